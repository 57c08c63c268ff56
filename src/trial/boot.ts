import { DomainError } from "../errors.ts";
import type { Reading } from "./harmless.ts";

/** How long a copy may take to answer, in milliseconds: it may be large, and the machine busy. */
const startMsMax = 300_000;
const answerMsMax = 60_000;

/** What a trial found. */
export type Booted = {
  /** How long the start took, in milliseconds. */
  started_in_ms: number;
  /** How many messages the pages held that were read. */
  messages: number;
};

/**
 * Serves the copy with the program on a port of its own of this machine, asks for its health and a page of messages of
 * each reading, and stops it. Nothing of this process's environment reaches the program.
 * @throws DomainError `conflict` when it does not start or does not answer, with what it said.
 */
export async function bootAndRead(
  program: string,
  dataDir: string,
  readings: readonly Reading[],
  signal?: AbortSignal,
): Promise<Booted> {
  const startedAt = performance.now();
  const child = Bun.spawn([program, "serve", "--port", "0", "--host", "127.0.0.1", "--json"], {
    env: { PARLEY_DATA_DIR: dataDir, PARLEY_LOG_LEVEL: "error" },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    ...(signal && { signal }),
  });
  const complaints = child.stderr.text();
  const tooLate = setTimeout(() => child.kill("SIGKILL"), startMsMax);
  try {
    const url = await firstUrl(child.stdout);
    const startedInMs = Math.round(performance.now() - startedAt);
    if (url === undefined) throw failed(program, `does not start: ${await complaints}`);
    await ask(program, `${url}/healthz`);
    let messages = 0;
    for (const { team, channelId, token } of readings) {
      const page = await ask(program, `${url}/api/v1/channels/${channelId}/messages`, token);
      const { data } = page as { data?: { messages?: unknown } | unknown[] };
      const listed = Array.isArray(data) ? data : data?.messages;
      if (!Array.isArray(listed)) throw failed(program, `lists no messages of ${team}.`);
      messages += listed.length;
    }
    return { started_in_ms: startedInMs, messages };
  } finally {
    child.kill("SIGTERM");
    await child.exited;
    clearTimeout(tooLate);
  }
}

/** The address in the first line of what `serve --json` prints; undefined when it ends without one. */
async function firstUrl(stream: ReadableStream<Uint8Array>): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of stream) {
    text += decoder.decode(part, { stream: true });
    const end = text.indexOf("\n");
    if (end < 0) continue;
    return urlIn(text.slice(0, end));
  }
  return undefined;
}

function urlIn(line: string): string | undefined {
  try {
    const { data } = JSON.parse(line) as { data?: { url?: unknown } };
    return typeof data?.url === "string" ? data.url.replace("//localhost:", "//127.0.0.1:") : undefined;
  } catch {
    return undefined;
  }
}

async function ask(program: string, url: string, token?: string): Promise<unknown> {
  const response = await fetch(url, {
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(answerMsMax),
    // The environment may name a proxy, which would look for this machine's address elsewhere.
    proxy: false,
  } as BunFetchRequestInit).catch((error: unknown) => {
    throw failed(program, `does not answer: ${error instanceof Error ? error.message : String(error)}`);
  });
  const text = await response.text();
  const { pathname } = new URL(url);
  if (response.status !== 200) throw failed(program, `answers ${pathname} with ${response.status}: ${text}`);
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function failed(program: string, what: string): DomainError {
  return new DomainError("conflict", `Served from the copy, ${program} ${what.trim()}`);
}
