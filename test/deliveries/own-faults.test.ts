import { expect, test } from "bun:test";
import { startReceiver } from "../support/receivers/receiver.ts";
import { startWebhookStage } from "../support/webhook-stage.ts";

test("a server that was paused blames no receiver that responded meanwhile, and delivers again", async () => {
  await using stage = await startWebhookStage({ WEBHOOKS_TIMEOUT: "1", WEBHOOKS_DISABLE_AFTER: "2" });
  const channel = await stage.channel();
  await using listener = await stage.listen({ channel_ids: [channel.id] });
  const { receiver, subscription } = listener;
  await stage.prove(channel, subscription);
  const proved = receiver.requests.length;
  const { promise: isPaused, resolve: pause } = Promise.withResolvers<void>();
  receiver.answer = async () => {
    await isPaused;
    return new Response();
  };
  for (let nth = 0; nth < 10; nth++) await stage.post(channel, `message ${nth}`);
  await receiver.received(proved + 10);
  process.kill(stage.server.pid, "SIGSTOP");
  pause();
  // As long as the pause lasts: well over the timeout of the requests in flight.
  await Bun.sleep(2_800);
  process.kill(stage.server.pid, "SIGCONT");
  await stage.drained(subscription);
  const shown = await stage.shown(subscription);
  expect(shown).toMatchObject({ status: "active", consecutive_failures: 0 });
  expect(shown.deliveries.filter(({ succeeded }) => !succeeded)).toEqual([]);
  expect(await stage.audit("webhook.auto_disabled")).toEqual([]);
}, 60_000);

test("running out of file descriptors is not the receiver's fault, for any kind of address", async () => {
  await using receiver = startReceiver();
  const script = Bun.fileURLToPath(import.meta.resolve("./attempt-without-descriptors.ts"));
  for (const url of [receiver.url, receiver.url.replace("http:", "https:"), "http://nobody.invalid/"]) {
    const command = `ulimit -n 100; exec "${process.execPath}" "${script}" "${url}"`;
    const child = Bun.spawn(["sh", "-c", command], { stdout: "pipe", stderr: "ignore" });
    const outcome: unknown = JSON.parse(await new Response(child.stdout).text());
    expect(outcome, url).toMatchObject({
      kind: "own_fault",
      error: "the server had no file descriptor left",
    });
  }
  expect(receiver.requests).toEqual([]);
});
