import { expect, test } from "bun:test";
import { closeSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../support/conditions.ts";
import { openPipe, takeFrom } from "../support/pipe.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const sources = join(import.meta.dir, "../../src/log");

const withLog = `import { createLog } from "./log.ts"; const log = createLog("info");`;

/** Starts a program whose imports are relative to a file in `src/log/`, with standard error as the test chooses. */
function start<Place extends "pipe" | number>(program: string, stderr: Place) {
  const command = [process.execPath, "-e", program];
  return Bun.spawn(command, { cwd: sources, stdin: "ignore", stdout: "pipe", stderr });
}

/** The number on each line of a log that ends with a line end. */
function numbersOf(log: string): number[] {
  const lines = log.split("\n");
  expect(lines.pop()).toBe("");
  return lines.map((line) => (JSON.parse(line) as { n: number }).n);
}

test("lines come out complete and in order, however many are written at once and whatever they contain", async () => {
  await using program = start(
    `${withLog}
     let n = 0;
     for (const many of [1, 3, 5_000, 0, 2]) {
       for (let i = 0; i < many; i++) log.info({ n: n++, text: "ü 😀".repeat(i % 50) }, "counted");
       await new Promise((resolve) => setImmediate(resolve));
     }`,
    "pipe",
  );
  expect(numbersOf(await program.stderr.text())).toEqual(Array.from({ length: 5_006 }, (_, n) => n));
});

test("lines for a full non-blocking pipe come out complete and in order", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "pipe");
  const pipe = openPipe(path);
  await using program = start(
    `import { constants, openSync } from "node:fs";
     import { LineBuffer } from "./line-buffer.ts";
     import { createLog } from "./log.ts";
     const pipe = openSync(${JSON.stringify(path)}, constants.O_WRONLY | constants.O_NONBLOCK);
     const log = createLog("info", new LineBuffer(pipe));
     for (let n = 0; n < 2_000; n++) log.info({ n, text: "x".repeat(500) }, "counted");`,
    "pipe",
  );
  let taken = "";
  await until("all lines are there", () => {
    taken += takeFrom(pipe, 40_000);
    return taken.endsWith("\n") && taken.split("\n").length > 2_000;
  });
  expect(numbersOf(taken)).toEqual(Array.from({ length: 2_000 }, (_, n) => n));
  expect(await program.exited).toBe(0);
  closeSync(pipe);
});

test("a reader that stops reading loses only lines, and learns how many when it reads again", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "pipe");
  const goOn = join(folder.path, "go-on");
  const pipe = openPipe(path);
  const stderr = openSync(path, "w");
  await using program = start(
    `${withLog}
     import { existsSync } from "node:fs";
     for (let n = 0; n < 10_000; n++) {
       log.info({ n, text: "x".repeat(500) }, "counted");
       if (n % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
     }
     console.log("going on");
     while (!existsSync(${JSON.stringify(goOn)})) await Bun.sleep(1);
     for (let n = 10_000; n < 10_010; n++) log.info({ n }, "counted");`,
    stderr,
  );
  closeSync(stderr);
  for await (const chunk of program.stdout) {
    expect(new TextDecoder().decode(chunk)).toBe("going on\n");
    break;
  }
  let taken = takeFrom(pipe, 1_000_000);
  await until("the reader has the number", () => {
    taken += takeFrom(pipe, 1_000_000);
    return taken.includes("log.lines_left_out");
  });
  writeFileSync(goOn, "");
  await until("the other lines are there", () => {
    taken += takeFrom(pipe, 1_000_000);
    return taken.includes('"n":10009');
  });
  expect(await program.exited).toBe(0);
  closeSync(pipe);

  const lines = taken.trimEnd().split("\n");
  const gap = lines.findIndex((line) => line.includes("log.lines_left_out"));
  const { lines: leftOut } = JSON.parse(lines[gap] ?? "") as { lines: number };
  // No more lines are kept than fit into a pipe and a bounded amount of memory.
  expect(gap).toBeWithin(100, 5_000);
  expect(numbersOf(`${lines.slice(0, gap).join("\n")}\n`)).toEqual(Array.from({ length: gap }, (_, n) => n));
  expect(numbersOf(`${lines.slice(gap + 1).join("\n")}\n`)).toEqual(
    Array.from({ length: 10 }, (_, n) => 10_000 + n),
  );
  expect(gap + leftOut).toBe(10_000);
});

test("a stopped reader does not delay process exit for long", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "pipe");
  const pipe = openPipe(path);
  const stderr = openSync(path, "w");
  await using program = start(
    `${withLog}
     for (let n = 0; n < 1_000; n++) log.info({ n, text: "x".repeat(500) }, "counted");
     process.exit();`,
    stderr,
  );
  closeSync(stderr);
  expect(await program.exited).toBe(0);
  closeSync(pipe);
});

test("lines that a full disk rejects are counted, and later output starts on a new line", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "log");
  // The shell limits files to a kilobyte, until the program lifts the limit.
  const program = `${withLog}
    const lines = () => { for (let n = 0; n < 10; n++) log.info({ n }, "counted"); };
    // This timer ends after the one that the lines wait for.
    const written = () => new Promise((resolve) => setTimeout(resolve, 10));
    lines();
    await written();
    lines();
    await written();
    Bun.spawnSync(["prlimit", "--pid", String(process.pid), "--fsize=unlimited:"]);
    lines();
    await written();
    log.info({ n: 10 }, "counted");`;
  const limited = 'trap "" XFSZ; exec 2>"$3"; ulimit -S -f 1; exec "$1" -e "$2"';
  await using shell = Bun.spawn(["bash", "-c", limited, "bash", process.execPath, program, path], {
    cwd: sources,
    stdin: "ignore",
  });
  expect(await shell.exited).toBe(0);
  const lines = readFileSync(path, "utf8").split("\n");
  expect(lines.pop()).toBe("");
  const gap = lines.findIndex((line) => line.includes("log.lines_left_out"));
  expect(JSON.parse(lines[gap] ?? "")).toMatchObject({ level: 40 });
  expect(lines[gap - 1]).not.toEndWith("}");
  const { lines: leftOut } = JSON.parse(lines[gap] ?? "") as { lines: number };
  // The truncated line is both in the file and among the unreadable ones.
  expect(gap - 1 + leftOut + (lines.length - gap - 1)).toBe(31);
  expect(lines.at(-1)).toContain('"n":10');
});

test.each([
  ["process exit", "process.exit();", 0],
  ["an uncaught error", `throw new Error("nobody catches this");`, 1],
  ["an unhandled rejection", `void Promise.reject(new Error("nor this"));`, 1],
  ["the end of the script", "", 0],
])("a line written right before %s is not lost", async (_how, script, status) => {
  await using program = start(`${withLog} log.info("last words"); ${script}`, "pipe");
  expect(await program.stderr.text()).toMatch(/^\{.*"msg":"last words"\}$/m);
  expect(await program.exited).toBe(status);
});

test("lines of a long turn come out before its end, and do not pile up", async () => {
  using folder = temporaryFolder();
  const seen = join(folder.path, "seen");
  await using program = start(
    `${withLog}
     import { existsSync } from "node:fs";
     for (let n = 0; n < 1_000; n++) log.info({ n, text: "x".repeat(100) }, "counted");
     while (!existsSync(${JSON.stringify(seen)})) Bun.sleepSync(1);`,
    "pipe",
  );
  for await (const _lines of program.stderr) writeFileSync(seen, "");
  expect(await program.exited).toBe(0);
});

test.each(["a pipe without a reader", "a full disk"])(
  "a log to %s does not stop the program",
  async (place) => {
    using folder = temporaryFolder();
    const path = join(folder.path, "pipe");
    let stderr: number;
    if (place === "a full disk") stderr = openSync("/dev/full", "w");
    else {
      const reader = openPipe(path);
      stderr = openSync(path, "w");
      closeSync(reader);
    }
    await using program = start(
      `${withLog}
       for (let n = 0; n < 3; n++) {
         log.info("to nobody");
         await new Promise((resolve) => setImmediate(resolve));
       }
       process.stdout.write("going on");`,
      stderr,
    );
    closeSync(stderr);
    expect(await program.stdout.text()).toBe("going on");
    expect(await program.exited).toBe(0);
  },
);
