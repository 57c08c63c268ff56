import { expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { until } from "../support/conditions.ts";
import { startServer } from "../support/server.ts";

test("a server whose data folder is taken away ends with a failure and says so, rather than stay up half dead", async () => {
  await using server = await startServer();
  rmSync(server.dataDir, { recursive: true });
  await server.logLine(({ msg, level }) => msg === "server.failed" && level === 60);
  await until("it has ended", () =>
    fetch(`${server.url}/healthz`).then(
      () => false,
      () => true,
    ),
  );
  expect(await server.stop()).toBe(1);
});
