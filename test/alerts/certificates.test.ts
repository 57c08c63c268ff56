import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { timestamp } from "../../src/timestamp.ts";
import { createAuthority } from "../outbound/certificates.ts";
import { run, runJson } from "../support/cli.ts";
import { until } from "../support/conditions.ts";
import { columnOf } from "../support/data.ts";
import { tlsReceiver } from "../support/receivers/tls-receiver.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { startWebhookStage } from "../support/webhook-stage.ts";

const dayMs = 24 * 60 * 60_000;

/** The moment so many days from now, in whole seconds, as certificates have it. */
function inDays(days: number): Date {
  return new Date(Math.floor((Date.now() + days * dayMs) / 1_000) * 1_000);
}

test("a team is told once of each certificate that ends within 14 days", async () => {
  using folder = temporaryFolder();
  const authority = createAuthority(folder.path);
  const caFile = join(folder.path, "trusted.pem");
  writeFileSync(caFile, authority.ca);
  const settings = { WEBHOOKS_CA_FILE: caFile };
  await using stage = await startWebhookStage(settings);
  const [ops, elsewhere] = [await stage.channel(), await stage.channel()];
  await runJson(stage.dataDir, ["teams", "notify", "--channel", ops.id]);
  const said = async () => (await stage.messages(ops)).map(({ body }) => body).reverse();

  /** Makes a webhook whose receiver has such a certificate, and has something delivered to it. */
  async function deliverTo(name: string, endsAt: Date) {
    await using receiver = await tlsReceiver(authority.issue("IP:127.0.0.1", { until: endsAt }));
    const url = `https://127.0.0.1:${receiver.port}/`;
    const input = { name, events: ["message.created"], channel_ids: [elsewhere.id] };
    const { id } = await stage.subscribe({ url }, input);
    await stage.post(elsewhere);
    const learnt = "SELECT certificate_ends_at FROM subscriptions WHERE id = ?";
    await until("the certificate is known", async () => {
      const [at] = await columnOf<number | null>(stage.dataDir, learnt, id);
      return Number(at) === endsAt.getTime();
    });
    // The receiver ends here, so what is posted next must not wait for it.
    await stage.disable({ id });
    return id;
  }

  const [soon, later] = [inDays(13), inDays(15)];
  const near = await deliverTo("Near", soon);
  const far = await deliverTo("Far", later);
  await stage.stop();
  for (const id of [near, far]) await stage.enable({ id });
  await stage.restart(settings);
  const text = (name: string, at: Date) =>
    `The certificate of the receiver of the webhook “${name}” ends at ${timestamp(at.getTime())}. ` +
    "Without a new one from its operator, deliveries fail from then on.";
  await until("the team is told", async () => (await said()).length > 0);
  expect(await said()).toEqual([text("Near", soon)]);
  expect((await run(stage.dataDir, ["webhooks", "show", near])).stdout).toMatch(/certificate +ends in 13 d/);
  expect((await run(stage.dataDir, ["webhooks", "show", far])).stdout).toMatch(/certificate +ends in 15 d/);
  const { stderr } = await run(stage.dataDir, ["webhooks", "list"]);
  expect(stderr).toContain("The certificate of Near ends in 13 d.");
  expect(stderr).not.toContain("The certificate of Far");

  // A stop waits for what is being said, so a second message about the first certificate would come before this one.
  await stage.restart(settings);
  await stage.stop();
  await stage.restart(settings);
  expect(await said()).toEqual([text("Near", soon)]);
  const sooner = inDays(2);
  const renewed = await deliverTo("Renewed", sooner);
  await stage.enable({ id: renewed });
  await stage.restart(settings);
  await until("the team is told", async () => (await said()).some((body) => body.includes("Renewed")));
  expect((await said()).filter((body) => body.startsWith("The certificate"))).toEqual([
    text("Near", soon),
    text("Renewed", sooner),
  ]);
  const moved = await stage.api.patch(`/webhooks/${near}`, { url: "https://127.0.0.1:1/" });
  expect(moved.status, moved.text).toBe(200);
  expect((await run(stage.dataDir, ["webhooks", "show", near])).stdout).not.toContain("certificate");
}, 60_000);
