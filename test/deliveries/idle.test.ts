import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { until } from "../support/conditions.ts";
import { startWebhookStage } from "../webhooks/webhook-stage.ts";

/** How long the server is watched at a time. */
const windowMs = 3_000;

/** Bun itself wakes the main thread about once a second; asking the queue ten times a second would show as thirty. */
const wakesMax = 10;

/** How often the main thread has gone to sleep, and how many bytes the process has read and written. */
function activity(pid: number): { wakes: number; read: number; written: number } {
  const status = readFileSync(`/proc/${pid}/task/${pid}/status`, "utf8");
  const io = readFileSync(`/proc/${pid}/io`, "utf8");
  const number = (pattern: RegExp, text: string) => Number(pattern.exec(text)?.[1]);
  return {
    wakes: number(/^voluntary_ctxt_switches:\s+(\d+)$/m, status),
    read: number(/^rchar: (\d+)$/m, io),
    written: number(/^wchar: (\d+)$/m, io),
  };
}

test("a server with nothing to deliver yet sleeps: it asks the queue nothing until something happens", async () => {
  await using stage = await startWebhookStage({ WEBHOOKS_BACKOFF_BASE: "600" });
  const channel = await stage.channel();
  await using listener = await stage.listen({ channel_ids: [channel.id] });
  // What waits for its next attempt waits without being looked at, too.
  await using failing = await stage.listen(
    { channel_ids: [channel.id] },
    () => new Response(null, { status: 500 }),
  );
  await stage.post(channel);
  await listener.delivered();
  await failing.receiver.received(1);

  const { pid } = stage.server;
  await until(
    "a while has passed in silence",
    async () => {
      const before = activity(pid);
      await Bun.sleep(windowMs);
      const after = activity(pid);
      return (
        after.wakes - before.wakes <= wakesMax &&
        // Less than a page of the data: what is read is a line about its own memory.
        after.read - before.read < 4_096 &&
        after.written === before.written
      );
    },
    { timeout_ms: 12_000 },
  );

  await stage.post(channel);
  expect(await listener.delivered()).toHaveLength(2);
}, 30_000);
