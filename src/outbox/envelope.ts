import { timestamp } from "../timestamp.ts";

/** What is kept of an event: `data` is JSON, `createdAt` milliseconds since 1970. */
export type StoredEvent = { id: string; type: string; data: string; createdAt: number };

/**
 * The event as it is sent to everybody and each time, to the byte (specification part 6, envelope).
 */
export function envelopeOf({ id, type, data, createdAt }: StoredEvent): string {
  return `{"id":"${id}","type":"${type}","created_at":"${timestamp(createdAt)}","data":${data}}`;
}
