import { isValidSignature } from "../signature.ts";
import { objectOf } from "./fields.ts";
import { forgeEventText } from "./forge-events.ts";
import type { Sender } from "./sender.ts";

/** Webhooks of GitHub's repositories, organizations and apps, signed with the webhook's secret. */
export const github: Sender = {
  suffix: "github",
  name: "GitHub",
  messageOf: ({ payload, headers }) => ({
    text: forgeEventText(headers.get("x-github-event") ?? "", objectOf(payload)),
    username: null,
    iconUrl: null,
  }),
  isFrom: ({ headers }) => headers.has("x-github-event") && !headers.has("x-gitea-event"),
  proof: {
    isGiven: (headers, rawBody, secret) =>
      isValidSignature(headers.get("x-hub-signature-256"), rawBody, secret),
    headers: ["X-Hub-Signature-256"],
    remedy: "Enter the webhook's signing secret as the Secret of the webhook in GitHub.",
  },
  deliveryOf: (headers) => headers.get("x-github-delivery"),
  setUp: (address, secret) => [
    "On GitHub: Settings → Webhooks → Add webhook, with",
    "",
    `  Payload URL:   ${address}`,
    "  Content type:  application/json",
    `  Secret:        ${secret ?? "(none)"}`,
  ],
};
