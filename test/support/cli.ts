import { existsSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";
import { expect } from "bun:test";
import { until } from "./conditions.ts";
import { environmentOf } from "./engine.ts";
import { parley } from "./server.ts";

/** How a command ended and what it said. */
export type Ran = { status: number; stdout: string; stderr: string };

/** All that a command on the data folder sees of the environment, before what a test adds. */
function baseEnvironment(dataDir: string): Record<string, string> {
  const found = { PATH: process.env.PATH ?? "", HOME: "/nonexistent" };
  return { ...found, PARLEY_DATA_DIR: dataDir, ...environmentOf(dataDir) };
}

/** Runs the compiled program on the data folder, without a terminal, and waits for its end. */
export async function run(
  dataDir: string,
  args: readonly string[],
  environment: Record<string, string> = {},
  cwd = process.cwd(),
  stdin: "ignore" | Blob = "ignore",
): Promise<Ran> {
  requireBuild();
  const child = Bun.spawn([parley, ...args], {
    cwd,
    env: { ...baseEnvironment(dataDir), ...environment },
    stdin,
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, status] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ]);
  return { status, stdout, stderr };
}

/** Runs a command with `--json` that is expected to be done, and returns its `data`. */
export async function runJson<Data>(
  dataDir: string,
  args: readonly string[],
  environment: Record<string, string> = {},
): Promise<Data> {
  const { status, stdout, stderr } = await run(dataDir, [...args, "--json"], environment);
  expect({ status, stderr }, `parley ${args.join(" ")}: ${stdout}`).toEqual({ status: 0, stderr: "" });
  return (parseDocument(stdout) as { data: Data }).data;
}

/** Runs a command with `--json` that is expected to be refused, and returns its exit status and its document. */
export async function runRefused(
  dataDir: string,
  args: readonly string[],
  environment: Record<string, string> = {},
): Promise<{ status: number; message: string; errors?: Record<string, string[]> }> {
  const { status, stdout } = await run(dataDir, [...args, "--json"], environment);
  expect(status, `parley ${args.join(" ")}: ${stdout}`).not.toBe(0);
  return { status, ...(parseDocument(stdout) as { message: string }) };
}

/** Standard output as the one JSON document on one line that it has to be. */
function parseDocument(stdout: string): unknown {
  expect(stdout).toMatch(/^\{.*\}\n$/);
  return JSON.parse(stdout);
}

/** A command that serves until it is stopped, without a terminal: `await using serving = startServing(…)`. */
export class Serving implements AsyncDisposable {
  readonly #child: Bun.Subprocess<"ignore" | Blob, "pipe", "ignore">;
  readonly #parts: AsyncIterator<string>;

  constructor(args: readonly string[], env: Record<string, string>, stdin: "ignore" | Blob) {
    this.#child = Bun.spawn([parley, ...args], { env, stdin, stdout: "pipe", stderr: "ignore" });
    this.#parts = this.#child.stdout.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
  }

  /** The first line of its standard output, waited for. */
  async firstLine(): Promise<string> {
    let text = "";
    while (!text.includes("\n")) {
      const { value, done } = await this.#parts.next();
      if (done) throw new Error(`It ended after ${JSON.stringify(text)}.`);
      text += value;
    }
    return text;
  }

  /** Stops it, and returns its exit status and what else it said. */
  async stop(): Promise<{ status: number; rest: string }> {
    this.#child.kill("SIGTERM");
    let rest = "";
    for (let part = await this.#parts.next(); !part.done; part = await this.#parts.next()) rest += part.value;
    return { status: await this.#child.exited, rest };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#child.exited;
  }
}

/** Runs a command of the compiled program that serves the data folder, with nothing or that on its standard input. */
export function startServing(
  dataDir: string,
  args: readonly string[],
  environment: Record<string, string> = {},
  stdin: "ignore" | Blob = "ignore",
): Serving {
  requireBuild();
  return new Serving(args, { ...baseEnvironment(dataDir), ...environment }, stdin);
}

/** A command on a pseudo-terminal of 80 columns: `await using screen = onTerminal(…)`. */
export class Screen implements AsyncDisposable {
  readonly #child: Bun.Subprocess;
  readonly #decoder = new TextDecoder();
  /** Resolves when the terminal has given out everything that was written to it. */
  readonly #drained = Promise.withResolvers<void>();
  #written = "";
  #read = 0;

  constructor(command: string[], env: Record<string, string>) {
    this.#child = Bun.spawn(command, {
      env,
      terminal: {
        cols: 80,
        rows: 50,
        data: (_terminal, data) => {
          this.#written += this.#decoder.decode(data, { stream: true });
        },
        exit: () => this.#drained.resolve(),
      },
    });
  }

  /** Waits until `text` stands on the screen after what earlier calls have waited for. */
  async shows(text: string): Promise<void> {
    try {
      await until(`the terminal shows ${text}`, () => this.text.indexOf(text, this.#read) >= 0);
    } catch (error) {
      throw new Error(`${String(error)} It shows:\n${this.text}`, { cause: error });
    }
    this.#read = this.text.indexOf(text, this.#read) + text.length;
  }

  /** Presses the keys. */
  type(keys: string): void {
    this.#child.terminal?.write(keys);
  }

  /** Everything that was written so far, escape sequences included. */
  get raw(): string {
    return this.#written;
  }

  /** Everything that was written so far, as text. */
  get text(): string {
    return stripVTControlCharacters(this.#written).replaceAll("\r\n", "\n");
  }

  /** Waits for the end of the command and of what it has to show, and returns its exit status. */
  async ended(): Promise<number> {
    const [status] = await Promise.all([this.#child.exited, this.#drained.promise]);
    return status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#child.exited;
    this.#child.terminal?.close();
  }
}

/** Runs the compiled program on the data folder, with a terminal. */
export function onTerminal(
  dataDir: string,
  args: readonly string[],
  environment: Record<string, string> = {},
): Screen {
  requireBuild();
  return new Screen([parley, ...args], {
    ...baseEnvironment(dataDir),
    TERM: "xterm-256color",
    ...environment,
  });
}

/** Runs the compiled program with a terminal, but its result goes to a file, as in `secret=$(parley …)`. */
export function intoFile(dataDir: string, args: readonly string[], file: string): Screen {
  requireBuild();
  const command = ["sh", "-c", 'file=$1; shift; exec "$@" > "$file"', "sh", file, parley, ...args];
  return new Screen(command, { ...baseEnvironment(dataDir), TERM: "xterm-256color" });
}

export const keys = { enter: "\r", down: "\u001b[B", space: " ", interrupt: "\u0003", end: "\u0004" };

function requireBuild(): void {
  if (!existsSync(parley)) throw new Error(`There is no ${parley}: run "bun run build" first.`);
}
