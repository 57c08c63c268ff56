import { afterAll, beforeAll, expect, test } from "bun:test";
import { startWebhookStage, type WebhookStage } from "../../support/webhook-stage.ts";
import { chatSamples } from "./samples/chat.ts";

let stage: WebhookStage;
beforeAll(async () => {
  stage = await startWebhookStage();
});
afterAll(() => stage[Symbol.asyncDispose]());

test.each(["alertmanager", "grafana", "uptime-kuma"])(
  "a signed webhook takes its secret as the credentials that %s can send, and no other",
  async (suffix) => {
    const { token, secret } = await stage.incoming(await stage.channel(), { signed: true });
    const body = JSON.stringify(chatSamples[suffix]);
    const answerTo = async (credentials?: string, to: string = suffix) => {
      const headers = credentials === undefined ? {} : { authorization: credentials };
      const address = `${stage.server.url}/webhooks/incoming/${token}/${to}`;
      const response = await fetch(address, { method: "POST", body, headers });
      return `${response.status} ${await response.text()}`;
    };
    expect(await answerTo(`Bearer ${secret}`)).toBe("200 ok");
    const refused = /^401 .*Authorization: Bearer whsec_/;
    expect(await answerTo()).toMatch(refused);
    expect(await answerTo("Bearer ")).toMatch(refused);
    expect(await answerTo(`Bearer ${secret}x`)).toMatch(refused);
    expect(await answerTo(`Basic ${secret}`)).toMatch(refused);
    // The specified rule for signatures stays where the sender can sign.
    expect(await answerTo(`Bearer ${secret}`, "text")).toStartWith("401 ");
  },
);
