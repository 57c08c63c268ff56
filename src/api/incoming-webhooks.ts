import { Elysia } from "elysia";
import { DomainError } from "../errors.ts";
import type { Database } from "../database/database.ts";
import type { WrongCredentials } from "../http/wrong-credentials.ts";
import type { Vault } from "../secrets/vault.ts";
import {
  contract,
  nothing,
  orForm,
  parameterContract,
  errorResponsesOfInput,
  errorResponsesOfParameter,
  errorResponseBecause,
} from "../http/contract.ts";
import { readBytes } from "../http/json-body.ts";
import { type RateLimit, enforceRateLimit } from "../http/rate-limit.ts";
import { readPayload } from "../incoming-webhooks/body.ts";
import { addressHash } from "../incoming-webhooks/address-hash.ts";
import {
  findLiveWebhook,
  getLiveWebhook,
  noWebhook,
  postIncoming,
  requireSignature,
} from "../incoming-webhooks/ingest.ts";
import { IncomingBody, IncomingForm, IncomingHeaders } from "../incoming-webhooks/schemas.ts";
import { isSigned } from "../incoming-webhooks/store.ts";

/** What the ingest address is built from. */
export type IngestParts = {
  database: Database;
  vault: Vault;
  ingestRateLimit: RateLimit;
  wrongCredentials: WrongCredentials;
};

/** Those who share the limit of requests that are not known to be the sender's, in the words of its refusal. */
const unsignedSenders = "Senders without a valid signature";

/** What counts as a failed signature: also a body too large to look for one, which else could be sent without end. */
function isOfUnsigned(error: unknown): boolean {
  return error instanceof DomainError && (error.code === "unauthenticated" || error.code === "too_large");
}

/** `POST /webhooks/incoming/{token}` (specification part 4, ingest): the checks stand in the order in which they answer. */
export function ingestRoutes({ database, vault, ingestRateLimit, wrongCredentials }: IngestParts) {
  return new Elysia({ prefix: "/webhooks/incoming", tags: ["Incoming webhooks"], normalize: false }).post(
    "/:token",
    async ({ request, params: { token }, set }) => {
      const hash = addressHash(token);
      const found = hash === undefined ? undefined : findLiveWebhook(database.read, hash);
      if (hash === undefined || found === undefined) throw wrongCredentials.errorOf(request, noWebhook());
      const { webhook } = found;
      const headers = set.headers as Record<string, string>;
      const spendOfSender = () => enforceRateLimit(ingestRateLimit, webhook.id, "This webhook", headers);
      if (!isSigned(webhook)) spendOfSender();
      let bytes: Uint8Array;
      try {
        bytes = await readBytes(request);
        // The body may have taken its time: meanwhile the webhook can be revoked or have another secret.
        const live = getLiveWebhook(database.read, hash);
        requireSignature(vault, live, request.headers.get("x-signature-256"), bytes);
      } catch (error) {
        // Whoever cannot sign spends nothing of the one who can.
        if (isSigned(webhook) && isOfUnsigned(error))
          enforceRateLimit(ingestRateLimit, `unsigned ${webhook.id}`, unsignedSenders, headers);
        throw error;
      }
      if (isSigned(webhook)) spendOfSender();
      const payload = await readPayload(bytes, request.headers.get("content-type") ?? "");
      await postIncoming(database, hash, payload);
      // Elysia's own answer without a body would say "Accepted" in one.
      return new Response(null, { status: 202 });
    },
    {
      parse: "none",
      detail: {
        operationId: "postIncoming",
        summary: "Post through an incoming webhook",
        description:
          "The token in the address is the credential. JSON is taken under whatever content type it comes.",
        security: [],
      },
      headers: parameterContract(IncomingHeaders),
      body: orForm(contract("IncomingPayload", IncomingBody), "IncomingForm", IncomingForm),
      response: {
        202: nothing,
        ...errorResponsesOfParameter,
        401: errorResponseBecause(
          "The webhook has a signing secret, and the signature is missing, malformed or wrong.",
          "Sign the raw body with the webhook's secret (HMAC-SHA256) and send the hex digest as X-Signature-256.",
        ),
        403: errorResponseBecause(
          "The webhook's bot is not a member of the channel, or the channel is archived.",
          "The webhook's bot is not a member of the channel.",
        ),
        404: errorResponseBecause(
          "There is no such webhook, or it was revoked, or the platform is switched off.",
          "There is no such incoming webhook.",
        ),
        413: errorResponsesOfInput[413],
      },
    },
  );
}
