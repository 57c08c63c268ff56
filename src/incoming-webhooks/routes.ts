import { Elysia } from "elysia";
import type { ApiContext } from "../http/api.ts";
import { contract, nothing, refusalsOfInput } from "../http/contract.ts";
import { readBytes } from "../http/json-body.ts";
import { spend } from "../http/rate-limit.ts";
import { readPayload } from "./body.ts";
import { getLiveWebhook, postIncoming, requireSignature } from "./ingest.ts";
import { IncomingBody } from "./schemas.ts";

/** `POST /webhooks/incoming/{token}` (specification part 4, ingest): the checks stand in the order in which they answer. */
export function ingestRoutes({ database, vault, ingestRateLimit }: ApiContext) {
  return new Elysia({ prefix: "/webhooks/incoming", tags: ["Incoming webhooks"], normalize: false }).post(
    "/:token",
    async ({ request, params: { token }, set }) => {
      const live = await getLiveWebhook(database.read, token);
      spend(ingestRateLimit, live.webhook.id, "This webhook", set.headers as Record<string, string>);
      const bytes = await readBytes(request);
      requireSignature(vault, live, request.headers.get("x-signature-256"), bytes);
      const payload = await readPayload(bytes, request.headers.get("content-type") ?? "");
      await postIncoming(database, token, payload);
      // Elysia's own answer without a body would say "Accepted" in one.
      return new Response(null, { status: 202 });
    },
    {
      parse: "none",
      detail: {
        operationId: "postIncoming",
        summary: "Post through an incoming webhook",
        description:
          "The token in the address is the credential. Where the webhook has a signing secret, `X-Signature-256` holds " +
          "the HMAC-SHA256 of the raw body in hex, bare or after `sha256=`.",
      },
      body: contract("IncomingPayload", IncomingBody),
      response: { 202: nothing, ...refusalsOfInput },
    },
  );
}
