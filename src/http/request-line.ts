import type { Caller } from "./caller.ts";

/** What the log line of a request says beyond its method and route: ids and numbers, and nothing that was sent. */
export type RequestLine = Caller & {
  request_id: string;
  status: number;
  duration_ms: number;
  /** Undefined for a client that was gone before its request was read. */
  address: string | undefined;
  /** Undefined while traces are off. */
  trace_id: string | undefined;
};

/** Returns the first fields of a request's line. */
export function lineBeginning(method: string, route: string | undefined): string {
  return JSON.stringify({ method, route }).slice(1, -1);
}

/** Returns all fields of a request's line. None of the values that are put in here needs escaping. */
export function lineText(beginning: string, line: RequestLine): string {
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
