import { describe, expect, test } from "bun:test";
import { stripVTControlCharacters } from "node:util";
import { linesForPeople } from "../../src/log/for-people.ts";
import { createLog } from "../../src/log/log.ts";
import { onTerminal, keys } from "../support/cli.ts";
import { until } from "../support/conditions.ts";
import { environmentOf } from "../support/engine.ts";
import { parley } from "../support/server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { openWorkspace } from "../support/workspace.ts";

/** What people see of the lines that `write` logs. */
function seen(write: (log: ReturnType<typeof createLog>) => void, hasColor = false): string {
  let text = "";
  write(createLog("trace", { write: (lines) => void (text += linesForPeople(lines, hasColor)) }));
  return text;
}

describe("a line of the log for people", () => {
  test("has the time of day, the level, the event and its fields", () => {
    const line = seen((log) => log.warn({ n: 1, url: "http://[::1]:8080", no: undefined }, "server.started"));
    expect(line).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} WARN  server\.started     n=1 url="http:\/\/\[::1\]:8080"\n$/,
    );
  });

  test("is aligned with the others, whatever their level", () => {
    const lines = seen((log) => {
      for (const level of ["trace", "debug", "info", "warn", "error", "fatal"] as const)
        log[level]({}, "it.happened");
    });
    const places = lines
      .trimEnd()
      .split("\n")
      .map((line) => line.indexOf("it.happened"));
    expect(places).toEqual(Array.from({ length: 6 }, () => 19));
  });

  test("has its level in colour, if there are colours", () => {
    const write = (log: ReturnType<typeof createLog>) => log.error({}, "it.happened");
    expect(seen(write, true)).toContain("\u001b[31mERROR");
    expect(seen(write)).not.toContain("\u001b");
  });

  test("cannot be forged or broken by what it quotes", () => {
    const hostile = "a\r\n\u001b[2J\u009b31m\u2028\u202e\0 10:00:00.000 INFO  fake=1";
    for (const hasColor of [false, true]) {
      const text = seen((log) => {
        log.info({ [hostile]: 1, detail: hostile, list: [hostile], deep: { [hostile]: hostile } }, hostile);
        log.error({ err: new Error(hostile, { cause: new Error(hostile) }) }, "request.failed");
      }, hasColor);
      const plain = stripVTControlCharacters(text);
      // Escape sequences are colours of ours, and line ends begin a line of ours or of a stack.
      expect(plain.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\u202e]/u);
      expect(text).not.toContain("\u001b[2J");
      for (const line of plain.trimEnd().split("\n"))
        expect(line).toMatch(/^(\d\d:\d\d:\d\d\.\d{3} [A-Z]+ | {4}\S)/);
    }
  });

  test("shows an error with its stack on lines below", () => {
    const [first, ...stack] = seen((log) =>
      log.error({ err: new TypeError("no such thing") }, "request.failed"),
    )
      .trimEnd()
      .split("\n");
    expect(first).toEndWith('ERROR request.failed     type=TypeError message="no such thing"');
    expect(stack.length).toBeGreaterThan(1);
    for (const line of stack) expect(line).toMatch(/^ {4}\S/);
  });
});

describe("parley serve", () => {
  /** What a server shows on a terminal until it has handled a request and was stopped, escape sequences included. */
  async function served(args: string[], environment: Record<string, string> = {}): Promise<string> {
    using folder = temporaryFolder();
    await (await openWorkspace(folder.path))[Symbol.asyncDispose]();
    await using screen = onTerminal(folder.path, ["serve", "--port", "0", ...args], environment);
    await screen.shows("Parley is listening at ");
    await screen.shows("Stop it with Ctrl-C.");
    const [, url] = /listening at (\S+)/.exec(screen.text) ?? [];
    await (await fetch(`${url}/healthz`)).text();
    await screen.shows("request.handled");
    screen.type(keys.interrupt);
    expect(await screen.ended()).toBe(0);
    expect(screen.text).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} INFO  request\.handled .*method=GET route=\/healthz/m,
    );
    return screen.raw;
  }

  test("logs lines for people on a terminal, with colours only where they are wanted", async () => {
    const [plain, asked, coloured] = await Promise.all([
      served([], { NO_COLOR: "1" }),
      served(["--no-color"]),
      served([]),
    ]);
    expect(coloured).toContain("\u001b[32mINFO");
    for (const raw of [plain, asked]) expect(raw).not.toContain("\u001b[3");
  });

  test("writes nothing but JSON lines without a terminal, to standard error", async () => {
    using folder = temporaryFolder();
    await (await openWorkspace(folder.path))[Symbol.asyncDispose]();
    await using child = Bun.spawn([parley, "serve", "--port", "0", "--data-dir", folder.path], {
      env: environmentOf(folder.path),
      stdout: "pipe",
      stderr: "pipe",
    });
    let log = "";
    const decoder = new TextDecoder();
    const read = (async () => {
      for await (const part of child.stderr) log += decoder.decode(part, { stream: true });
    })();
    await until("it has started", () => log.includes('"server.started"'));
    child.kill("SIGTERM");
    expect(await child.exited).toBe(0);
    await read;
    for (const line of log.trimEnd().split("\n")) expect(JSON.parse(line), line).toHaveProperty("msg");
    expect(await child.stdout.text()).toBe("");
  });
});
