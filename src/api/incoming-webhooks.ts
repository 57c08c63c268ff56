import { Elysia } from "elysia";
import { DomainError } from "../errors.ts";
import type { Database } from "../database/database.ts";
import { noteCaller } from "../http/caller.ts";
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
import { ignoredFieldsOf, mayIgnoreFields } from "../http/ignored-fields.ts";
import { readBytes } from "../http/json-body.ts";
import { errorResponseOf } from "../http/error-responses.ts";
import { enforceRateLimit, type RateCounter } from "../http/rate-limit.ts";
import { addressHash } from "../incoming-webhooks/address-hash.ts";
import {
  findLiveWebhook,
  getLiveWebhook,
  noWebhook,
  postIncoming,
  requireSignature,
} from "../incoming-webhooks/ingest.ts";
import { isRefusal, keepRefusedPost } from "../incoming-webhooks/refused-posts.ts";
import { IncomingBody, IncomingForm, IncomingHeaders } from "../incoming-webhooks/schemas.ts";
import { explained } from "../incoming-webhooks/senders/explain.ts";
import { onceOf } from "../incoming-webhooks/senders/once-of.ts";
import { messageIn, payloadOf } from "../incoming-webhooks/senders/read-post.ts";
import type { Sender, SenderResponse } from "../incoming-webhooks/senders/sender.ts";
import { getSender } from "../incoming-webhooks/senders/senders.ts";
import { whyUnproven } from "../incoming-webhooks/signature.ts";
import { isSigned } from "../incoming-webhooks/store.ts";
import { workOf } from "../tracing/request-work.ts";

/** The parts that the ingest route uses. */
export type IngestParts = {
  database: Database;
  vault: Vault;
  ingestRateLimit: RateCounter;
  wrongCredentials: WrongCredentials;
};

const noteIgnored = ignoredFieldsOf(IncomingBody);

/** The holder of the rate limit that all unsigned requests of a webhook share, as the error names it. */
const unsignedSenders = "Senders without a valid signature";

/** What the handlers use of a request. */
type Ingested<Params> = { request: Request; params: Params; set: { headers: unknown } };

/** The response of a sender that takes what Slack's senders do: most others look at the status alone. */
const ok: SenderResponse = {
  status: 200,
  body: "ok",
  headers: { "content-type": "text/plain; charset=utf-8" },
};

/** Whether the error counts as a failed signature. A body too large to verify does, or it would have no limit. */
function isOfUnsigned(error: unknown): boolean {
  return error instanceof DomainError && (error.code === "unauthenticated" || error.code === "too_large");
}

/**
 * `POST /webhooks/incoming/{token}` (specification part 4, ingest), and beside it an address for each sender with a form
 * of its own. The first check that fails decides the response.
 */
export function ingestRoutes({ database, vault, ingestRateLimit, wrongCredentials }: IngestParts) {
  /** Posts what came in, in the sender's form or else as specified, and returns the response. */
  const ingest = async (
    { request, params: { token }, set }: Ingested<{ token: string }>,
    sender: Sender | undefined,
  ): Promise<Response> => {
    const hash = addressHash(token);
    const asked = hash === undefined ? undefined : database.ask((db) => findLiveWebhook(db, hash));
    const found = asked instanceof Promise ? await asked : asked;
    if (hash === undefined || found === undefined) throw wrongCredentials.errorOf(request, noWebhook());
    const { webhook } = found;
    noteCaller(request, {
      webhook_id: webhook.id,
      user_id: found.bot.id,
      channel_id: found.channel.id,
    });
    const headers = set.headers as Record<string, string>;
    const enforceSenderLimit = () =>
      enforceRateLimit(ingestRateLimit.take(webhook.id), "This webhook", headers);
    const limited = isSigned(webhook) ? undefined : enforceSenderLimit();
    if (limited instanceof Promise) await limited;
    let bytes: Uint8Array | undefined;
    let isProven = !isSigned(webhook);
    let payload: unknown;
    try {
      try {
        bytes = await readBytes(request);
        // The body may have been slow: meanwhile the webhook may have been revoked or its secret rotated.
        const live = database.ask((db) => getLiveWebhook(db, hash));
        requireSignature(
          vault,
          live instanceof Promise ? await live : live,
          request.headers,
          bytes,
          sender?.proof,
        );
        isProven = true;
      } catch (error) {
        // Senders without the secret must not use up the limit of the one who has it.
        if (isSigned(webhook) && isOfUnsigned(error))
          await enforceRateLimit(ingestRateLimit.take(`unsigned ${webhook.id}`), unsignedSenders, headers);
        throw error;
      }
      const limitedAfter = isSigned(webhook) ? enforceSenderLimit() : undefined;
      if (limitedAfter instanceof Promise) await limitedAfter;
      payload = await payloadOf(sender, bytes, request.headers);
      const read = () => messageIn(sender, payload, request.headers);
      const once = onceOf(webhook.id, sender, request.headers, bytes);
      const message = await postIncoming(database, hash, read, workOf(request), once);
      if (sender !== undefined) return responseTo(sender.accepted?.(message, request) ?? ok, headers);
      noteIgnored(headers, payload);
      // Elysia would send "Accepted" as the body.
      return new Response(null, { status: 202 });
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const { code } = error;
      const told = code === "invalid" ? explained(error, sender, payload, request.headers) : error;
      const arrived = { suffix: sender?.suffix ?? "", headers: request.headers, bytes, isProven };
      // A 401 says the same for any of these (specification part 5, rule 5); the operator is told more.
      const why = code === "unauthenticated" ? whyUnproven(request.headers, sender?.proof) : told.message;
      // The sender is told why in any case.
      await keepRefusedPost({ database, vault }, hash, arrived, { code, reason: why }).catch(() => {});
      throw told;
    }
  };

  /** Posts what came in from this sender, and tells it of an error in its own way. */
  const ingestFrom = async (sender: Sender, context: Ingested<{ token: string }>): Promise<Response> => {
    try {
      return await ingest(context, sender);
    } catch (error) {
      if (!sender.refused || !(error instanceof DomainError)) throw error;
      const { status, headers } = errorResponseOf(error, context.request);
      return responseTo(
        sender.refused(error, status),
        Object.assign(context.set.headers as Record<string, string>, headers),
      );
    }
  };

  return (
    new Elysia({ prefix: "/webhooks/incoming", tags: ["Incoming webhooks"], normalize: false })
      .post("/:token", async (context) => await ingest(context, undefined), {
        parse: "none",
        detail: {
          operationId: "postIncoming",
          summary: "Post through an incoming webhook",
          description: "The token in the URL is the credential. JSON is accepted under any content type.",
          security: [],
        },
        headers: parameterContract(IncomingHeaders),
        body: orForm(contract("IncomingPayload", IncomingBody), "IncomingForm", IncomingForm),
        response: {
          202: mayIgnoreFields(nothing),
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
            noWebhook().message,
          ),
          413: errorResponsesOfInput[413],
        },
      })
      // The bodies of these are those of the senders, which docs/senders.md describes.
      .post(
        "/:token/:sender",
        async (context) => await ingestFrom(getSender(context.params.sender), context),
        {
          parse: "none",
          detail: { hide: true },
        },
      )
      // Libraries of Discord put this path behind the address of an API. Its id and key are not looked at.
      .post(
        "/:token/discord/:version/webhooks/:id/:key",
        async (context) => await ingestFrom(getSender("discord"), context),
        { parse: "none", detail: { hide: true } },
      )
  );
}

/** The headers of a fast path's response are those of the request's context. */
function responseTo({ status, body, headers }: SenderResponse, of: object): Response {
  Object.assign(of, headers);
  return new Response(body, { status });
}
