import { isIPv6 } from "node:net";
import { errorCode } from "../system/error-code.ts";
import { type Connection, type Destination, KeptConnections } from "./connections.ts";

/** How much of a response body is read, and how much of that is kept. Decisions section 6. */
const maxBodyBytes = 64 * 1024;
const excerptBytes = 1024;

/** One POST to one receiver. */
export type OutgoingPost = {
  /** As the address guard returned it, never parsed again. */
  url: URL;
  /** The addresses that the guard has vetted for this attempt. */
  addresses: readonly string[];
  body: Uint8Array | string;
  headers: Record<string, string>;
  /** What is left of `WEBHOOKS_TIMEOUT`: from the first connect to the last header. */
  timeoutMs: number;
  /** All certificate authorities to trust, in PEM; without it the usual ones. */
  ca?: string | undefined;
};

/**
 * The outcome. Any status counts as answered, redirects included. `error` is one of a few fixed texts, which contain
 * neither an address nor anything that the receiver wrote.
 */
export type SendOutcome =
  | {
      kind: "answered";
      status: number;
      retryAfter: string | null;
      excerpt: Uint8Array;
      /** In milliseconds since 1970; undefined without TLS. */
      certificateEndsAt: number | undefined;
    }
  | { kind: "timed_out" }
  | { kind: "unreachable"; error: string }
  /** The system had no descriptor, port or memory left to connect with, which is not the receiver's fault. */
  | { kind: "own_fault"; error: string };

const connections = new KeptConnections();

/**
 * Sends the body to one of the vetted addresses and nowhere else, regardless of DNS, proxies and redirects. It tries
 * the next address only if no connection was established, all within one timeout, so a receiver gets one POST; over
 * https at most two, if the first one was sent on a reused connection that broke. A status that arrives in time
 * decides, whatever happens to the body after it: at most 64 KiB of that are read, and the first 1 KiB is returned.
 * Never throws because of the receiver. Bun limits the requests in flight in a process (`requestsAllowed`); others wait
 * while their timeout runs.
 * @throws TypeError for a header that cannot be sent, which is an error of the caller.
 */
export async function send(post: OutgoingPost): Promise<SendOutcome> {
  const headers = headersOf(post);
  const controller = new AbortController();
  let atDeadline = () => controller.abort();
  // One timer for everything, because the timeout of fetch itself restarts with every byte that arrives.
  const timer = setTimeout(() => atDeadline(), post.timeoutMs);
  try {
    const sent = await postToFirst(post, headers, controller.signal);
    if ("error" in sent) return controller.signal.aborted ? { kind: "timed_out" } : sent;
    const { response, connection } = sent;
    const reader = response.body?.getReader();
    let isCut = false;
    // From here on the deadline only ends the body. Cancelling closes the socket like aborting, but is not an error.
    atDeadline = () => {
      isCut = true;
      void cancel(reader);
    };
    const { excerpt, isComplete } = await readBody(reader);
    if (connection && isComplete && !isCut && hasClearEnd(response)) connections.keep(connection);
    else if (connection) connections.close(connection);
    return {
      kind: "answered",
      status: response.status,
      retryAfter: response.headers.get("retry-after"),
      excerpt,
      certificateEndsAt: connection?.certificateEndsAt,
    };
  } finally {
    clearTimeout(timer);
  }
}

/** The response, whose body has not been read yet, and for https the connection that it uses. */
type Sent = { response: Response; connection?: Connection };

/** Why there is no response, as one of the fixed texts. */
type Unsent = { kind: "unreachable" | "own_fault"; error: string };

/** Returns the response of the first address that accepts a connection, or why there is none. */
async function postToFirst(
  post: OutgoingPost,
  headers: Headers,
  signal: AbortSignal,
): Promise<Sent | Unsent> {
  let error = "no address to connect to";
  for (const address of post.addresses) {
    try {
      const sent = await postTo(address, post, headers, signal);
      if (sent.response.status >= 200) return sent;
      // Bun accepts any three digits. It has skipped interim responses already, so this is not a valid response.
      if (sent.connection) connections.close(sent.connection);
      await sent.response.body?.cancel();
      return { kind: "unreachable", error: malformedResponse };
    } catch (failure) {
      const code = codeOf(failure);
      const shortage = shortageOf(code, address);
      if (shortage !== undefined) return { kind: "own_fault", error: shortage };
      error = connectErrors.get(code) ?? errors.get(code) ?? "connection failed";
      // Once connected, the receiver may have got the request: another address would get it a second time.
      if (signal.aborted || !connectErrors.has(code)) break;
    }
  }
  return { kind: "unreachable", error };
}

/** Returns which resource the system had run out of, if that is why there was no connection. */
function shortageOf(code: string, address: string): string | undefined {
  // For an IPv6 address the code means that this machine has no IPv6 address, which is not a temporary shortage.
  if (code === "EADDRNOTAVAIL") return isIPv6(address) ? undefined : "the server had no local port left";
  return shortages.get(code);
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
    // Otherwise HTTP_PROXY and the like send the request to a proxy, which resolves the name again.
    proxy: false,
    // Decompression runs ahead of the reader: a few bytes could expand in memory before the limit applies.
    decompress: false,
  };
  if (url.protocol === "https:") {
    return await postEncrypted({ url, address, ca }, target, { ...request, protocol: "http1.1" });
  }
  // A new connection is cheap without TLS. A receiver of one thread may serve it only once the one before is closed, and
  // Bun would pool plain ones by address alone.
  return { response: await fetch(target, { ...request, keepalive: false }) };
}

/**
 * Sends over a kept connection if there is one. A receiver may close that at any time, also during a request, so a
 * request that fails this way is sent once more, over a new connection. A request that fails on a new connection is
 * not, so a receiver that always breaks the connection gets one POST. Bun does not tell whether a response had begun: a
 * receiver that breaks the connection within the response head also gets the event again, as the next attempt would do.
 */
async function postEncrypted(
  destination: Destination,
  target: string,
  request: BunFetchRequestInit,
): Promise<Sent> {
  const kept = connections.take(destination);
  try {
    if (kept) return await postOver(kept, target, request);
  } catch (failure) {
    if (codeOf(failure) !== "ECONNRESET" || !kept?.wasReused) throw failure;
  }
  return await postOver(connections.open(destination), target, request);
}

async function postOver(connection: Connection, target: string, request: BunFetchRequestInit): Promise<Sent> {
  try {
    return { response: await connection.fetch(target, request), connection };
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

/** Returns the start of the body. Reads up to the limit, so that a receiver can finish before the socket closes. */
async function readBody(
  reader: BodyReader | undefined,
): Promise<{ excerpt: Uint8Array; isComplete: boolean }> {
  const parts: Uint8Array[] = [];
  let readBytes = 0;
  let isComplete = reader === undefined;
  try {
    while (reader !== undefined && readBytes < maxBodyBytes) {
      const { done, value } = await reader.read();
      isComplete = done;
      if (done || value === undefined) break;
      // A copy, because a view would keep the whole chunk in memory.
      if (readBytes < excerptBytes) parts.push(value.slice(0, excerptBytes - readBytes));
      readBytes += value.byteLength;
    }
  } catch {
    // The status has decided; what arrived of a broken body is kept.
  }
  if (!isComplete) await cancel(reader);
  return { excerpt: Buffer.concat(parts), isComplete };
}

/**
 * Whether the end of the response is unambiguous (RFC 9112 section 6.3). Otherwise the next response on the connection
 * might begin in the wrong place.
 */
function hasClearEnd({ status, headers }: Response): boolean {
  const length = headers.get("content-length");
  const isChunked = headers.has("transfer-encoding");
  if (status === 204 || status === 304) return !isChunked && (length === null || length === "0");
  return isChunked ? length === null : length !== null;
}

async function cancel(reader: BodyReader | undefined): Promise<void> {
  try {
    await reader?.cancel();
  } catch {
    // The socket broke first, so it is closed anyway.
  }
}

/** The part of a stream's reader that is used here. */
type BodyReader = { read(): Promise<{ done: boolean; value?: Uint8Array }>; cancel(): Promise<void> };

function codeOf(failure: unknown): string {
  return errorCode(failure) ?? "";
}

/** The error of an attempt for which the server had no file descriptor. */
export const noDescriptor = "the server had no file descriptor left";
const noMemory = "the server had no memory left";

/** Codes of local shortages: nothing was sent. */
const shortages = new Map([
  ["EMFILE", noDescriptor],
  ["ENFILE", noDescriptor],
  ["ENOBUFS", noMemory],
  ["ENOMEM", noMemory],
]);

const malformedResponse = "malformed HTTP response";
const untrusted = "TLS certificate not trusted";

/** Codes of errors before a connection was established. */
const connectErrors = new Map([
  ["ECONNREFUSED", "connection refused"],
  ["ENETUNREACH", "network unreachable"],
  ["ENETDOWN", "network unreachable"],
  ["EHOSTUNREACH", "host unreachable"],
  ["EHOSTDOWN", "host unreachable"],
  ["EADDRNOTAVAIL", "network unreachable"],
]);

/** Codes of errors after that. */
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
  ["Malformed_HTTP_Response", malformedResponse],
  ["ResponseHeadersTooLarge", malformedResponse],
  ["InvalidContentLength", malformedResponse],
  ["InvalidHTTPResponse", malformedResponse],
  ["UnrequestedUpgrade", malformedResponse],
]);
