import { expect, test } from "bun:test";
import { startWebhookStage } from "../../support/webhook-stage.ts";
import { mutated, randomNumbers } from "./fuzz.ts";
import { chatSamples } from "./samples/chat.ts";

test("whatever is wrong with a post, it is posted or refused, and the server goes on", async () => {
  await using stage = await startWebhookStage();
  const { token } = await stage.incoming(await stage.channel());
  for (const [suffix, sample] of Object.entries(chatSamples)) {
    const random = randomNumbers(16);
    for (let n = 0; n < 120; n++) {
      const body = JSON.stringify(mutated(sample, random));
      const address = `${stage.server.url}/webhooks/incoming/${token}/${suffix}`;
      const response = await fetch(address, { method: "POST", body });
      expect([200, 204, 400, 413, 422], `${suffix}, post ${n}: ${await response.text()}`).toContain(
        response.status,
      );
    }
  }
}, 60_000);
