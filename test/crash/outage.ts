// Not one of the checks, for it takes a minute: `bun test ./test/crash/outage.ts` after `bun run build`.
import { expect, test } from "bun:test";
import { startDatabaseStage } from "./database-stage.ts";

/** How long the database is away, in milliseconds. */
const awayMs = 30_000;

test("while the database refuses connections for 30 s, requests get 503 at once; then all goes on, and no receiver is blamed", async () => {
  await using stage = await startDatabaseStage();
  await stage.underLoad(async () => {
    await stage.proxy.refuse();
    let asked = 0;
    for (const endsAt = performance.now() + awayMs; performance.now() < endsAt; asked++) {
      const answers = await Promise.all([
        stage.api.post(stage.messagesPath, { body: "during the outage" }),
        stage.api.get(stage.messagesPath),
      ]);
      for (const { status, headers } of answers) {
        expect(status).toBe(503);
        expect(headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
      }
    }
    expect(asked).toBeGreaterThan(0);
    expect((await stage.health("/readyz")).status).toBe(503);
    await stage.proxy.accept();
  });
  await stage.expectRecovered();
}, 180_000);
