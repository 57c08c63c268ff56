import { expect, test } from "bun:test";
import { closeSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../support/conditions.ts";
import { openPipe, takeFrom } from "../support/pipe.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const sources = join(import.meta.dir, "../../src/log");

const withLog = `import { createLog } from "./log.ts"; const log = createLog("info");`;

/** Starts a program whose imports are those of a file in `src/log/`, with standard error wherever the test wants it. */
function start<Place extends "pipe" | number>(program: string, stderr: Place) {
  const command = [process.execPath, "-e", program];
  return Bun.spawn(command, { cwd: sources, stdin: "ignore", stdout: "pipe", stderr });
}

/** The number on each line of a log, which ends with a line's end. */
function numbersOf(log: string): number[] {
  const lines = log.split("\n");
  expect(lines.pop()).toBe("");
  return lines.map((line) => (JSON.parse(line) as { n: number }).n);
}

test("lines come out whole and in order, however many are written at once and whatever is in them", async () => {
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

test("lines for a pipe that is full, and does not make its writers wait, come out whole and in order", async () => {
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

test("a reader that stops reading costs lines and nothing else, and is told how many when it reads again", async () => {
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
  for await (const said of program.stdout) {
    expect(new TextDecoder().decode(said)).toBe("going on\n");
    break;
  }
  let taken = takeFrom(pipe, 1_000_000);
  await until("the reader has been told", () => {
    taken += takeFrom(pipe, 1_000_000);
    return taken.includes("log.lines_left_out");
  });
  writeFileSync(goOn, "");
  await until("the rest is there", () => {
    taken += takeFrom(pipe, 1_000_000);
    return taken.includes('"n":10009');
  });
  expect(await program.exited).toBe(0);
  closeSync(pipe);

  const lines = taken.trimEnd().split("\n");
  const gap = lines.findIndex((line) => line.includes("log.lines_left_out"));
  const { lines: leftOut } = JSON.parse(lines[gap] ?? "") as { lines: number };
  // A pipe and some memory full of lines are kept, and no more.
  expect(gap).toBeWithin(100, 5_000);
  expect(numbersOf(`${lines.slice(0, gap).join("\n")}\n`)).toEqual(Array.from({ length: gap }, (_, n) => n));
  expect(numbersOf(`${lines.slice(gap + 1).join("\n")}\n`)).toEqual(
    Array.from({ length: 10 }, (_, n) => 10_000 + n),
  );
  expect(gap + leftOut).toBe(10_000);
});

test("a reader that has stopped does not keep the process from its end for long", async () => {
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

test("lines that a full disk refuses are counted, and what comes after them stands on a line of its own", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "log");
  // The shell lets no file grow beyond a kilobyte, until the program takes that back.
  const program = `${withLog}
    const lines = () => { for (let n = 0; n < 10; n++) log.info({ n }, "counted"); };
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    lines();
    await turn();
    lines();
    await turn();
    Bun.spawnSync(["prlimit", "--pid", String(process.pid), "--fsize=unlimited:"]);
    lines();
    await turn();
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
  // The one that breaks off is both in the file and among those that nobody can read.
  expect(gap - 1 + leftOut + (lines.length - gap - 1)).toBe(31);
  expect(lines.at(-1)).toContain('"n":10');
});

test.each([
  ["the process exits", "process.exit();", 0],
  ["a fault ends it", `throw new Error("nobody catches this");`, 1],
  ["a promise's fault ends it", `void Promise.reject(new Error("nor this"));`, 1],
  ["it comes to its end", "", 0],
])("a line that is written right before %s is not lost", async (_how, script, status) => {
  await using program = start(`${withLog} log.info("last words"); ${script}`, "pipe");
  expect(await program.stderr.text()).toMatch(/^\{.*"msg":"last words"\}$/m);
  expect(await program.exited).toBe(status);
});

test("lines of a turn that takes long come out before its end, and do not pile up", async () => {
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

test.each(["a pipe that nobody reads any more", "a full disk"])(
  "a log that goes to %s does not keep the program from going on",
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
