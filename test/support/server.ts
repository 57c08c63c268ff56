import { existsSync } from "node:fs";
import { join } from "node:path";
import { until } from "./conditions.ts";
import { atEndOfRun } from "./end-of-run.ts";
import { environmentOf } from "./engine.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { openWorkspace } from "./workspace.ts";

/** The compiled program, which is what people get: a bundle can break what the sources do well. */
export const parley = join(import.meta.dir, "..", "..", "dist", "parley");

/** What a test server is told before what the test adds: the rate limit does not slow down a test that is not about it. */
const defaultEnvironment = { INTEGRATIONS_API_RATE_LIMIT: "1000000", PARLEY_LOG_LEVEL: "info" };

type ServeProcess = ReturnType<typeof spawnServe>;

/** The compiled server as a child process, for one test: `await using server = await startServer()`. */
export class TestServer implements AsyncDisposable {
  readonly dataDir: string;
  readonly #environment: Record<string, string>;
  readonly #within: readonly string[];
  readonly #folder: Disposable | undefined;
  readonly #log: string[] = [];
  #child: ServeProcess | undefined;
  #url = "";
  #isServing = false;

  constructor(
    dataDir: string,
    environment: Record<string, string>,
    within: readonly string[],
    folder: Disposable | undefined,
  ) {
    this.dataDir = dataDir;
    this.#environment = environment;
    this.#within = within;
    this.#folder = folder;
  }

  /** Where it listens, which is another port after each start. */
  get url(): string {
    return this.#url;
  }

  get pid(): number {
    return this.#running().pid;
  }

  /** Whether it has started and was not told to end since. */
  get isServing(): boolean {
    return this.#isServing;
  }

  /** Starts it on its folder and returns when it has said where it listens. */
  async start(): Promise<void> {
    if (!existsSync(parley)) throw new Error(`There is no ${parley}: run "bun run build" first.`);
    const child = spawnServe(this.dataDir, this.#environment, this.#within);
    this.#child = child;
    const endOfLog = this.#collectLog(child.stderr);
    const first = await firstLine(child.stdout);
    const said = first === undefined ? undefined : (parseObject(first).data as { url?: unknown } | undefined);
    if (typeof said?.url !== "string") {
      this.#child = undefined;
      child.kill("SIGKILL");
      await endOfLog;
      throw new Error(`The server did not start. It said: ${[first, ...this.#log].join("\n")}`);
    }
    this.#url = said.url;
    this.#isServing = true;
  }

  /** Stops it as an operator would, and returns its exit status. */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<number> {
    return await this.#end(signal);
  }

  /** Ends it in the middle of whatever it does, as a crash would. */
  async kill9(): Promise<void> {
    await this.#end("SIGKILL");
  }

  /** Waits until it has ended by itself, and returns its exit status. */
  async ended(): Promise<number> {
    const status = await this.#running().exited;
    this.#isServing = false;
    this.#child = undefined;
    return status;
  }

  /** Starts it again on the same folder, after stopping it where it still runs. */
  async restart(): Promise<void> {
    if (this.#child) await this.stop();
    await this.start();
  }

  /** What it has written to standard error so far, over all its starts, line by line. */
  logLines(): readonly string[] {
    return this.#log;
  }

  /** The first line of its log that `isWanted` accepts, waited for: a line may be written after the answer is sent. */
  async logLine(isWanted: (line: Record<string, unknown>) => boolean): Promise<Record<string, unknown>> {
    return await until("the log holds such a line", () => this.#log.map(parseObject).find(isWanted));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child) await this.kill9();
    this.#folder?.[Symbol.dispose]();
  }

  #running(): ServeProcess {
    if (!this.#child) throw new Error("The server is not running.");
    return this.#child;
  }

  async #end(signal: NodeJS.Signals): Promise<number> {
    const child = this.#running();
    this.#isServing = false;
    child.kill(signal);
    const status = await child.exited;
    this.#child = undefined;
    return status;
  }

  async #collectLog(stream: ReadableStream<Uint8Array>): Promise<void> {
    for await (const line of linesOf(stream)) this.#log.push(line);
  }
}

/**
 * Starts a server on `dataDir`, which stays when it is done, or else on a new folder with an empty workspace, which does not. `environment`
 * adds to the settings of every test server and is all that the program sees of the environment. `within` is a command that
 * ends by becoming the one that is appended to it.
 * @throws when it does not start, with what it said.
 */
export async function startServer(
  options: { dataDir?: string; environment?: Record<string, string>; within?: readonly string[] } = {},
): Promise<TestServer> {
  const folder = options.dataDir === undefined ? temporaryFolder() : undefined;
  const dataDir = options.dataDir ?? folder?.path ?? "";
  if (folder) await (await openWorkspace(dataDir))[Symbol.asyncDispose]();
  const environment = { ...defaultEnvironment, ...environmentOf(dataDir), ...options.environment };
  const server = new TestServer(dataDir, environment, options.within ?? [], folder);
  try {
    await server.start();
  } catch (error) {
    await server[Symbol.asyncDispose]();
    throw error;
  }
  return server;
}

/** What a server is started within to have the limits that these arguments of the shell's `ulimit` set. */
export function underLimits(limits: string): string[] {
  return ["/bin/sh", "-c", `ulimit ${limits} && exec "$0" "$@"`];
}

function spawnServe(dataDir: string, env: Record<string, string>, within: readonly string[]) {
  const child = Bun.spawn([...within, parley, "serve", "--port", "0", "--data-dir", dataDir, "--json"], {
    env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const forget = atEndOfRun(() => child.kill("SIGKILL"));
  void child.exited.then(forget);
  return child;
}

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string | undefined> {
  for await (const line of linesOf(stream)) return line;
  return undefined;
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const part of stream) {
    const lines = (rest + decoder.decode(part, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  if (rest !== "") yield rest;
}

function parseObject(line: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
