import { expect, test } from "bun:test";
import { closeSync } from "node:fs";
import { join } from "node:path";
import { until } from "../support/conditions.ts";
import { openPipe, takeFrom } from "../support/pipe.ts";
import { startServer } from "../support/server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** More than the pipe holds and the server keeps. */
const requests = 15_000;

test("a server whose log nobody reads goes on, and reports the number of dropped lines once somebody does", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "log");
  const pipe = openPipe(path);
  await using server = await startServer({ within: ["/bin/sh", "-c", 'exec "$@" 2>"$0"', path] });
  const health = `${server.url}/healthz`;
  let taken = "";
  // The last line that is about no request: dropped later, it would be counted with them.
  await until("the server has swept", () => {
    taken += takeFrom(pipe, 1_000_000);
    return taken.includes("retention.swept") && taken.endsWith("\n");
  });
  let asked = 0;
  const ask = async () => {
    while (asked < requests) {
      asked += 1;
      expect((await fetch(health)).status).toBe(200);
    }
  };
  await Promise.all(Array.from({ length: 32 }, ask));

  await until("the number is said", () => {
    taken += takeFrom(pipe, 1_000_000);
    return taken.includes("log.lines_left_out") && taken.endsWith("\n");
  });
  expect((await fetch(health)).status).toBe(200);
  expect(await server.stop()).toBe(0);
  taken += takeFrom(pipe, 1_000_000);
  closeSync(pipe);

  const lines = taken
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { msg: string; lines?: number });
  const leftOut = lines.reduce((sum, line) => sum + (line.lines ?? 0), 0);
  const handled = lines.filter(({ msg }) => msg === "request.handled").length;
  expect(lines.filter(({ msg }) => msg === "log.lines_left_out")).toHaveLength(1);
  expect(handled + leftOut).toBe(requests + 1);
  expect(lines.at(-1)?.msg).toBe("server.stopped");
}, 60_000);

test("a server whose log nobody reads stops within seconds", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "log");
  const pipe = openPipe(path);
  await using server = await startServer({ within: ["/bin/sh", "-c", 'exec "$@" 2>"$0"', path] });
  for (let asked = 0; asked < 1_000; asked++) await fetch(`${server.url}/healthz`);
  expect(await server.stop()).toBe(0);
  closeSync(pipe);
});
