import { closeSync, openSync } from "node:fs";
import { type AddressGuard, vet } from "../outbound/address-guard.ts";
import { Pauses } from "./pauses.ts";
import type { PreparedRequest } from "./prepare.ts";
import { noDescriptor, send } from "../outbound/send.ts";

/**
 * How one attempt ended. Whatever the receiver does is an outcome and never an exception. `own_fault` is no attempt at
 * all: the server had no descriptor, port or memory for it, or stood still while it was under way.
 */
export type Outcome = {
  kind: "succeeded" | "rejected" | "timed_out" | "unreachable" | "blocked" | "own_fault";
  /** The receiver's status, null when no status line came in time. */
  status: number | null;
  /** What went wrong, in a few words without an address; null when it succeeded. */
  error: string | null;
  /** Why it was blocked, with the address: for the server's own log and for nobody else. */
  detail: string | null;
  /** At most the first KiB of the answer's body, as bytes. */
  responseStart: Uint8Array | null;
  /** The answer's `Retry-After`, as it came. */
  retryAfter: string | null;
  /** From the name look-up to the end of the answer, or of as much of it as is read. */
  durationMs: number;
};

export type Outgoing = {
  guard: AddressGuard;
  /** For the whole attempt, from the name look-up to the last header. */
  timeoutMs: number;
  /** A certificate authority of the tests' own. */
  ca?: string | undefined;
};

const pauses = new Pauses();

/** Vets the address anew and sends the request to what was vetted (specification part 6, rules 1 and 4). */
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
    const isUnheard = outcome.kind === "timed_out" || outcome.kind === "unreachable";
    if (isUnheard && pauses.since(startedAt)) return ended({ kind: "own_fault", error: stoodStill });
    return outcome;
  } finally {
    pauses.end();
  }
}

async function attemptSince(
  startedAt: number,
  { guard, timeoutMs, ca }: Outgoing,
  url: string,
  request: PreparedRequest,
): Promise<Pick<Outcome, "kind"> & Partial<Outcome>> {
  const vetted = await vet(url, guard, timeoutMs);
  if (!vetted.ok && vetted.reason === "unresolvable") {
    // The resolver does not say that it could not open its socket.
    if (hasNoDescriptor()) return { kind: "own_fault", error: noDescriptor };
    return { kind: "unreachable", error: vetted.detail };
  }
  if (!vetted.ok) return { kind: "blocked", error: blocked, detail: vetted.detail };

  const left = timeoutMs - (performance.now() - startedAt);
  if (left <= 0) return { kind: "timed_out", error: late(timeoutMs) };
  const sent = await send({
    ...request,
    url: vetted.url,
    addresses: vetted.addresses,
    timeoutMs: left,
    ...(ca && { ca }),
  });
  if (sent.kind === "timed_out") return { kind: "timed_out", error: late(timeoutMs) };
  if (sent.kind !== "answered") return sent;
  const { status, retryAfter, excerpt } = sent;
  const answer = { status, retryAfter, responseStart: excerpt };
  if (status >= 200 && status < 300) return { kind: "succeeded", ...answer };
  return { kind: "rejected", error: `the receiver answered ${status}`, ...answer };
}

function hasNoDescriptor(): boolean {
  try {
    closeSync(openSync("/dev/null", "r"));
    return false;
  } catch {
    return true;
  }
}

function late(timeoutMs: number): string {
  return `timed out after ${timeoutMs} ms`;
}

// The same for every reason, so that it tells nothing about the network that the server stands in.
const blocked = "blocked: the URL is not publicly reachable";
const stoodStill = "the server stood still while the request was under way";
