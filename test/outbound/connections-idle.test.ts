import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { until } from "../support/conditions.ts";
import { startWebhookStage } from "../support/webhook-stage.ts";

/** How long the server is watched at a time, and how often it is looked at meanwhile. */
const windowMs = 3_000;
const lookMs = 100;

/** Bun itself wakes the main thread about once a second; asking the queue ten times a second would show as thirty. */
const wakesMax = 10;

/** How often the main thread has gone to sleep, and how many bytes the process has read and written. */
function activity(pid: number): { sleeps: number; read: number; written: number } {
  const status = readFileSync(`/proc/${pid}/task/${pid}/status`, "utf8");
  const io = readFileSync(`/proc/${pid}/io`, "utf8");
  const number = (pattern: RegExp, text: string) => Number(pattern.exec(text)?.[1]);
  return {
    sleeps: number(/^voluntary_ctxt_switches:\s+(\d+)$/m, status),
    read: number(/^rchar: (\d+)$/m, io),
    written: number(/^wchar: (\d+)$/m, io),
  };
}

/**
 * What the process does in a window. Its main thread counts as woken once for each look that finds it to have slept
 * anew: within one wake it waits several times for the threads of the garbage collector, the more the busier the machine.
 */
async function watch(pid: number): Promise<{ wakes: number; read: number; written: number }> {
  const before = activity(pid);
  const endsAt = performance.now() + windowMs;
  let wakes = 0;
  let last = before;
  while (performance.now() < endsAt) {
    await Bun.sleep(lookMs);
    const now = activity(pid);
    if (now.sleeps !== last.sleeps) wakes += 1;
    last = now;
  }
  return { wakes, read: last.read - before.read, written: last.written - before.written };
}

test("a server with nothing to deliver yet sleeps: it does not query the queue until something happens", async () => {
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
      const { wakes, read, written } = await watch(pid);
      // Less than a page of the data: what is read is a line about its own memory.
      return wakes <= wakesMax && read < 4_096 && written === 0;
    },
    { timeout_ms: 60_000 },
  );

  await stage.post(channel);
  expect(await listener.delivered()).toHaveLength(2);
}, 120_000);
