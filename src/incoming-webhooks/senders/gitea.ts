import { isValidSignature } from "../signature.ts";
import { objectOf } from "./fields.ts";
import { forgeEventText } from "./forge-events.ts";
import type { Sender } from "./sender.ts";

const signatures = ["X-Gitea-Signature", "X-Forgejo-Signature", "X-Hub-Signature-256"];

/** Webhooks of Gitea and Forgejo, signed with the webhook's secret. */
export const gitea: Sender = {
  suffix: "gitea",
  name: "Gitea or Forgejo",
  messageOf: ({ payload, headers }) => ({
    text: forgeEventText(
      headers.get("x-gitea-event") ?? headers.get("x-forgejo-event") ?? "",
      objectOf(payload),
    ),
    username: null,
    iconUrl: null,
  }),
  isFrom: ({ headers }) => headers.has("x-gitea-event") || headers.has("x-forgejo-event"),
  proof: {
    isGiven: (headers, rawBody, secret) =>
      signatures.some((name) => isValidSignature(headers.get(name), rawBody, secret)),
    headers: signatures,
    remedy: "Enter the webhook's signing secret as the Secret of the webhook in Gitea.",
  },
  deliveryOf: (headers) => headers.get("x-gitea-delivery") ?? headers.get("x-forgejo-delivery"),
  setUp: (address, secret) => [
    "In Gitea or Forgejo: Settings → Webhooks → Add webhook → Gitea (or Forgejo), with",
    "",
    `  Target URL:    ${address}`,
    "  HTTP method:   POST",
    "  Content type:  application/json",
    `  Secret:        ${secret ?? "(none)"}`,
  ],
};
