import { isIPv6 } from "node:net";
import { errorCode } from "../system/error-code.ts";
import { type Connection, type Destination, KeptConnections } from "./connections.ts";

/** What is read of an answer's body at most, and what is kept of it. Decisions section 6. */
const maxBodyBytes = 64 * 1024;
const excerptBytes = 1024;

/** One POST to one receiver. */
export type OutgoingPost = {
  /** As the address guard returned it, never parsed again. */
  url: URL;
  /** The addresses that the guard let through for this very attempt. */
  addresses: readonly string[];
  body: Uint8Array | string;
  headers: Record<string, string>;
  /** `WEBHOOKS_TIMEOUT`: from the first connect to the last header. */
  timeoutMs: number;
  /** Certificates of an authority to trust instead of the usual ones, in PEM. */
  ca?: string | undefined;
};

/**
 * What became of it. Any status is an answer, a redirect too. `error` is one of a few fixed texts that hold neither an
 * address nor anything the receiver wrote.
 */
export type SendOutcome =
  | { kind: "answered"; status: number; retryAfter: string | null; excerpt: Uint8Array }
  | { kind: "timed_out" }
  | { kind: "unreachable"; error: string }
  /** The system had nothing left to connect with: the receiver has nothing to do with it. */
  | { kind: "own_fault"; error: string };

const connections = new KeptConnections();

/**
 * Sends the body to one of the vetted addresses and to no other, whatever name, proxy or redirect says otherwise. The
 * next address is tried only when no connection came about, all within one timeout, so a receiver sees one POST; over
 * https at most two, where the connection was a kept one and broke off under the first.
 * A status that came in time decides, however the body after it goes on. Never throws for the receiver's fault.
 * Bun has only so many requests under way in a process (`requestsAllowed`); what is sent beyond waits while its timeout
 * runs.
 * @throws TypeError for a header that cannot be sent, which is a fault of the caller.
 */
export async function send(post: OutgoingPost): Promise<SendOutcome> {
  const headers = headersOf(post);
  const giveUp = new AbortController();
  let atDeadline = () => giveUp.abort();
  // One timer for all of it: the timeout that fetch itself offers starts anew with every byte that drips in.
  const timer = setTimeout(() => atDeadline(), post.timeoutMs);
  try {
    const sent = await postToFirst(post, headers, giveUp.signal);
    if ("error" in sent) return giveUp.signal.aborted ? { kind: "timed_out" } : sent;
    const { answer, connection } = sent;
    const reader = answer.body?.getReader();
    let isCut = false;
    // From here on the deadline ends the body only. Cancelling closes the socket as aborting does, but is no error.
    atDeadline = () => {
      isCut = true;
      void cancel(reader);
    };
    const { excerpt, isWhole } = await readBody(reader);
    if (connection && isWhole && !isCut && endsClearly(answer)) connections.keep(connection);
    else if (connection) connections.close(connection);
    return {
      kind: "answered",
      status: answer.status,
      retryAfter: answer.headers.get("retry-after"),
      excerpt,
    };
  } finally {
    clearTimeout(timer);
  }
}

/** The answer, whose body is still to come, and over https the connection that it came over. */
type Sent = { answer: Response; connection?: Connection };

/** Why there is no answer, in fixed words. */
type Unsent = { kind: "unreachable" | "own_fault"; error: string };

/** The first answer that comes from the addresses in their order, or why there is none. */
async function postToFirst(
  post: OutgoingPost,
  headers: Headers,
  signal: AbortSignal,
): Promise<Sent | Unsent> {
  let error = "no address to connect to";
  for (const address of post.addresses) {
    try {
      const sent = await postTo(address, post, headers, signal);
      if (sent.answer.status >= 200) return sent;
      // Bun passes on any three digits. Interim answers were passed over before, so this is none at all.
      if (sent.connection) connections.close(sent.connection);
      await sent.answer.body?.cancel();
      return { kind: "unreachable", error: malformedAnswer };
    } catch (failure) {
      const code = codeOf(failure);
      const lack = lackOf(code, address);
      if (lack !== undefined) return { kind: "own_fault", error: lack };
      error = connectErrors.get(code) ?? errors.get(code) ?? "connection failed";
      // After the connection stood, the receiver may have the delivery: another address would be a second one.
      if (signal.aborted || !connectErrors.has(code)) break;
    }
  }
  return { kind: "unreachable", error };
}

/** What the system had none of, where that is why there was no connection. */
function lackOf(code: string, address: string): string | undefined {
  // To an IPv6 address it says that this machine has none of its own, and then never will.
  if (code === "EADDRNOTAVAIL") return isIPv6(address) ? undefined : "no local port was left on this server";
  return lacks.get(code);
}

async function postTo(
  address: string,
  post: OutgoingPost,
  headers: Headers,
  signal: AbortSignal,
): Promise<Sent> {
  const { url, body, ca } = post;
  const host = isIPv6(address) ? `[${address}]` : address;
  const port = url.port === "" ? "" : `:${url.port}`;
  const target = `${url.protocol}//${host}${port}${url.pathname}${url.search}`;
  const request: BunFetchRequestInit = {
    method: "POST",
    headers,
    body,
    signal,
    redirect: "manual",
    // Otherwise HTTP_PROXY and its kin send the delivery to a proxy, which looks up the name for itself.
    proxy: false,
    // The inflater runs ahead of the reader: a few bytes would grow in memory before the limit is seen.
    decompress: false,
  };
  if (url.protocol === "https:") {
    return await postEncrypted({ url, address, ca }, target, { ...request, protocol: "http1.1" });
  }
  // A new connection costs little here, and Bun pools plain ones by address alone.
  return { answer: await fetch(target, { ...request, keepalive: false }) };
}

/**
 * Sends over a kept connection where there is one. Receivers close those whenever they like, under a request too: so
 * what broke off there is sent once more, over a new connection. What breaks off there is never sent again, so whoever
 * always breaks off gets one POST. Bun does not tell whether an answer had begun: whoever breaks off within its head is
 * sent the event again too, as the next attempt would do.
 */
async function postEncrypted(
  destination: Destination,
  target: string,
  request: BunFetchRequestInit,
): Promise<Sent> {
  const used = connections.take(destination);
  try {
    if (used) return await postOver(used, target, request);
  } catch (failure) {
    if (codeOf(failure) !== "ECONNRESET" || !used?.wasReused) throw failure;
  }
  return await postOver(connections.open(destination), target, request);
}

async function postOver(connection: Connection, target: string, request: BunFetchRequestInit): Promise<Sent> {
  try {
    return { answer: await connection.fetch(target, request), connection };
  } catch (failure) {
    connections.close(connection);
    throw failure;
  }
}

function headersOf({ url, headers }: OutgoingPost): Headers {
  const all = new Headers(headers);
  all.set("host", url.host);
  all.set("accept-encoding", "identity");
  return all;
}

/** The start of the body. Reads on to the limit, so that a receiver can finish its answer before the socket closes. */
async function readBody(reader: BodyReader | undefined): Promise<{ excerpt: Uint8Array; isWhole: boolean }> {
  const parts: Uint8Array[] = [];
  let readBytes = 0;
  let isWhole = reader === undefined;
  try {
    while (reader !== undefined && readBytes < maxBodyBytes) {
      const { done, value } = await reader.read();
      isWhole = done;
      if (done || value === undefined) break;
      // A copy, because a view would keep the whole chunk in memory with it.
      if (readBytes < excerptBytes) parts.push(value.slice(0, excerptBytes - readBytes));
      readBytes += value.byteLength;
    }
  } catch {
    // The status has decided; a body that breaks off leaves what came before.
  }
  if (!isWhole) await cancel(reader);
  return { excerpt: Buffer.concat(parts), isWhole };
}

/**
 * Whether there is one way to say where the answer ends. After any other the next one might begin in the wrong place.
 */
function endsClearly({ status, headers }: Response): boolean {
  const length = headers.get("content-length");
  const isChunked = headers.has("transfer-encoding");
  if (status === 204 || status === 304) return !isChunked && (length === null || length === "0");
  return isChunked ? length === null : length !== null;
}

async function cancel(reader: BodyReader | undefined): Promise<void> {
  try {
    await reader?.cancel();
  } catch {
    // The socket broke first, which is as good as closed.
  }
}

/** As much of a stream's reader as is used here. */
type BodyReader = { read(): Promise<{ done: boolean; value?: Uint8Array }>; cancel(): Promise<void> };

function codeOf(failure: unknown): string {
  return errorCode(failure) ?? "";
}

export const noDescriptor = "no file descriptor was left on this server";
const noMemory = "no memory was left on this server";

/** Of our own, so that nothing was sent. */
const lacks = new Map([
  ["EMFILE", noDescriptor],
  ["ENFILE", noDescriptor],
  ["ENOBUFS", noMemory],
  ["ENOMEM", noMemory],
]);

const malformedAnswer = "malformed HTTP answer";
const untrusted = "TLS certificate not trusted";

/** Before there was a connection. */
const connectErrors = new Map([
  ["ECONNREFUSED", "connection refused"],
  ["ENETUNREACH", "network unreachable"],
  ["ENETDOWN", "network unreachable"],
  ["EHOSTUNREACH", "host unreachable"],
  ["EHOSTDOWN", "host unreachable"],
  ["EADDRNOTAVAIL", "network unreachable"],
]);

/** After it. */
const errors = new Map([
  ["ECONNRESET", "connection reset"],
  ["EPROTO", "TLS handshake failed"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "TLS certificate does not match the host name"],
  ["CERT_HAS_EXPIRED", "TLS certificate expired"],
  ["CERT_NOT_YET_VALID", "TLS certificate not yet valid"],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", untrusted],
  ["UNABLE_TO_GET_ISSUER_CERT", untrusted],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", untrusted],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", untrusted],
  ["SELF_SIGNED_CERT_IN_CHAIN", untrusted],
  ["Malformed_HTTP_Response", malformedAnswer],
  ["ResponseHeadersTooLarge", malformedAnswer],
  ["InvalidContentLength", malformedAnswer],
  ["InvalidHTTPResponse", malformedAnswer],
  ["UnrequestedUpgrade", malformedAnswer],
]);
