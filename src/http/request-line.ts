import { isUuid } from "../input/text.ts";
import type { Log } from "../log/log.ts";
import { type Caller, callerOf } from "./caller.ts";
import { internalErrorOf } from "./error-responses.ts";
import type { FoundRoute } from "./route-table.ts";

/** What the log line of a request says beyond its method and route: ids and numbers, and nothing that was sent. */
type RequestLine = Caller & {
  request_id: string;
  status: number;
  duration_ms: number;
  /** Undefined for a client that was gone before its request was read. */
  address: string | undefined;
  /** Undefined while traces are off. */
  trace_id: string | undefined;
};

/** What the lines of all requests to an endpoint have in common. */
export type LineOfEndpoint = {
  /** The first fields, as text. */
  beginning: string;
  /** Where the path has ids that the log has, too; -1 for nowhere. */
  channelAt: number;
  webhookAt: number;
};

/** Returns what the lines of the endpoint's requests have in common, so that it is made once. */
export function lineOfEndpoint(method: string, route: string | undefined): LineOfEndpoint {
  const segments = route?.split("/") ?? [];
  return {
    beginning: JSON.stringify({ method, route }).slice(1, -1),
    channelAt: segments.indexOf(":channel"),
    webhookAt: segments.indexOf(":subscription"),
  };
}

/**
 * Writes the one line of a request, after its response: with the internal error where there was one. `at` is where the
 * request went, as far as there is such a route and endpoint.
 */
export function writeRequestLine(
  log: Log,
  request: Request,
  at: { found: FoundRoute<unknown> | undefined; line: LineOfEndpoint | undefined },
  known: Omit<RequestLine, keyof Caller>,
): void {
  const { found, line: ofEndpoint } = at;
  const caller = callerOf(request);
  const line: RequestLine = {
    ...known,
    token_id: caller?.token_id,
    user_id: caller?.user_id,
    channel_id: caller?.channel_id ?? idAt(found?.segments, ofEndpoint?.channelAt),
    webhook_id: caller?.webhook_id ?? idAt(found?.segments, ofEndpoint?.webhookAt),
  };
  const route = found?.route.path;
  // 501 names a feature that we do not offer; nothing has failed.
  if (line.status < 500 || line.status === 501) {
    const { beginning } = ofEndpoint ?? lineOfEndpoint(request.method, route);
    if (log.infoText) log.infoText(lineText(beginning, line), "request.handled");
  } else {
    const err = internalErrorOf(request);
    log.error({ method: request.method, route, ...line, err }, "request.failed");
  }
}

/** The id in that segment of the path. Any other text there stays out of the log. */
function idAt(segments: string[] | undefined, at: number | undefined): string | undefined {
  const text = at === undefined || at < 0 ? undefined : segments?.[at];
  return text !== undefined && isUuid(text) ? text : undefined;
}

/** Returns all fields of a request's line. None of the values that are put in here needs escaping. */
function lineText(beginning: string, line: RequestLine): string {
  const { request_id, status, duration_ms, address, token_id, user_id, channel_id, webhook_id, trace_id } =
    line;
  let text = `${beginning},"request_id":"${request_id}","status":${status},"duration_ms":${duration_ms}`;
  if (address !== undefined) text += `,"address":"${address}"`;
  if (token_id !== undefined) text += `,"token_id":"${token_id}"`;
  if (user_id !== undefined) text += `,"user_id":"${user_id}"`;
  if (channel_id !== undefined) text += `,"channel_id":"${channel_id}"`;
  if (webhook_id !== undefined) text += `,"webhook_id":"${webhook_id}"`;
  if (trace_id !== undefined) text += `,"trace_id":"${trace_id}"`;
  return text;
}
