import { closeSync, openSync } from "node:fs";
import { type AddressGuard, vet } from "../outbound/address-guard.ts";
import { withoutValues } from "./hidden-values.ts";
import { Pauses } from "./pauses.ts";
import type { PreparedRequest } from "./prepare.ts";
import { noDescriptor, send } from "../outbound/send.ts";

/**
 * How one attempt ended. Anything the receiver does is an outcome, never an exception. `own_fault` does not count as an
 * attempt: the server had no descriptor, port or memory left, or was paused while the request was in flight.
 */
export type Outcome = {
  kind: "succeeded" | "rejected" | "timed_out" | "unreachable" | "blocked" | "own_fault";
  /** The receiver's status, null when no status line arrived in time. */
  status: number | null;
  /** What went wrong, in a few words that name no address; null on success. */
  error: string | null;
  /** Why the attempt was blocked, with the address: for the server's log only, never for the API. */
  detail: string | null;
  /** The first bytes of the response body, at most 1 KiB, without the values of the subscription's headers. */
  responseStart: Uint8Array | null;
  /** The response's `Retry-After`, unparsed. */
  retryAfter: string | null;
  /** When the receiver's certificate ends, in milliseconds since 1970, if it answered over TLS. */
  certificateEndsAt?: number | undefined;
  /** From the DNS look-up to the end of the response, or to the limit up to which it is read. */
  durationMs: number;
};

/** What an attempt needs from the server's configuration. */
export type Outgoing = {
  guard: AddressGuard;
  /** For the whole attempt, from the DNS look-up to the last header (`WEBHOOKS_TIMEOUT`). */
  timeoutMs: number;
  /** All certificate authorities to trust, in PEM; without it the usual ones (`WEBHOOKS_CA_FILE`). */
  ca?: string | undefined;
};

const pauses = new Pauses();

/**
 * Resolves and vets the URL's host, then sends the request to a vetted address (specification part 6, rules 1 and 4).
 * Resolves within `timeoutMs`; a response body that is still arriving then is cut off.
 */
export async function attempt(outgoing: Outgoing, url: string, request: PreparedRequest): Promise<Outcome> {
  const startedAt = pauses.begin();
  const ended = (outcome: Pick<Outcome, "kind"> & Partial<Outcome>): Outcome => ({
    status: null,
    error: null,
    detail: null,
    responseStart: null,
    retryAfter: null,
    ...outcome,
    durationMs: Math.round(performance.now() - startedAt),
  });
  try {
    const outcome = ended(await attemptSince(startedAt, outgoing, url, request));
    const hasNoResponse = outcome.kind === "timed_out" || outcome.kind === "unreachable";
    if (hasNoResponse && pauses.since(startedAt)) return ended({ kind: "own_fault", error: paused });
    return outcome;
  } finally {
    pauses.end();
  }
}

async function attemptSince(
  startedAt: number,
  { guard, timeoutMs, ca }: Outgoing,
  url: string,
  { headers, own, body }: PreparedRequest,
): Promise<Pick<Outcome, "kind"> & Partial<Outcome>> {
  const vetted = await vet(url, guard, timeoutMs);
  if (!vetted.ok && vetted.reason === "unresolvable") {
    // The resolver does not report that it could not open its socket.
    if (hasNoDescriptor()) return { kind: "own_fault", error: noDescriptor };
    return { kind: "unreachable", error: vetted.detail };
  }
  if (!vetted.ok) return { kind: "blocked", error: blocked, detail: vetted.detail };

  const leftMs = timeoutMs - (performance.now() - startedAt);
  if (leftMs <= 0) return { kind: "timed_out", error: timeoutError(timeoutMs) };
  const sent = await send({
    headers,
    body,
    url: vetted.url,
    addresses: vetted.addresses,
    timeoutMs: leftMs,
    ...(ca && { ca }),
  });
  if (sent.kind === "timed_out") return { kind: "timed_out", error: timeoutError(timeoutMs) };
  if (sent.kind !== "answered") return sent;
  const { status, retryAfter, excerpt, certificateEndsAt } = sent;
  const response = { status, retryAfter, certificateEndsAt, responseStart: withoutValues(excerpt, own) };
  if (status >= 200 && status < 300) return { kind: "succeeded", ...response };
  return { kind: "rejected", error: `the receiver answered ${status}`, ...response };
}

function hasNoDescriptor(): boolean {
  try {
    closeSync(openSync("/dev/null", "r"));
    return false;
  } catch {
    return true;
  }
}

function timeoutError(timeoutMs: number): string {
  return `timed out after ${timeoutMs} ms`;
}

/** The error of a blocked attempt, the same for every reason: more would reveal the network that the server runs in. */
export const blocked = "blocked: the URL is not publicly reachable";
const paused = "the server was paused while the request was in flight";
