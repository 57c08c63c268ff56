import { readdirSync, readFileSync } from "node:fs";

/** The only variable that a child inherits, so that no setting of the caller affects the figures. */
const path = { PATH: process.env.PATH ?? "" };

/** A process that serves while it is measured; it is killed when its benchmark ends. */
export type Child = AsyncDisposable & {
  pid: number;
  /** The first line of its standard output: where it listens. */
  firstLine: string;
  /** Its current resident memory, in MiB. */
  rssMb(): number;
  openFiles(): number;
  /** Sends SIGTERM and waits for its end. */
  stop(): Promise<void>;
};

/**
 * Starts a program and returns once it has written its first line. Standard error goes to `logFile`, or is inherited.
 * @throws when it ends before that.
 */
export async function startChild(
  command: string[],
  options: { env?: Record<string, string>; logFile?: string } = {},
): Promise<Child> {
  const child = Bun.spawn(command, {
    env: { ...path, ...options.env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: options.logFile === undefined ? "inherit" : Bun.file(options.logFile),
  });
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);
  const firstLine = await firstLineOf(child.stdout);
  if (firstLine === undefined) {
    const log = options.logFile === undefined ? "" : readFileSync(options.logFile, "utf8").slice(0, 2_000);
    throw new Error(`${command.join(" ")} did not start. ${log}`);
  }

  async function stop(): Promise<void> {
    child.kill("SIGTERM");
    await child.exited;
    process.off("exit", kill);
  }
  return {
    pid: child.pid,
    firstLine,
    rssMb: () => residentMb(child.pid),
    openFiles: () => readdirSync(`/proc/${child.pid}/fd`).length,
    stop,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await stop();
    },
  };
}

/** Runs a program to its end and returns its standard output. @throws when it fails. */
export async function outputOf(command: string[], env: Record<string, string> = {}): Promise<string> {
  const child = Bun.spawn(command, {
    env: { ...path, ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  const output = await child.stdout.text();
  if ((await child.exited) === 0) return output;
  throw new Error(`${command[0]} failed: ${output}`);
}

function residentMb(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kilobytes) / 1024;
}

async function firstLineOf(stream: ReadableStream<Uint8Array>): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of stream) {
    text += decoder.decode(part, { stream: true });
    const end = text.indexOf("\n");
    if (end !== -1) return text.slice(0, end);
  }
  return undefined;
}
