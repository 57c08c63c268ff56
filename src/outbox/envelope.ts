import { timestamp } from "../timestamp.ts";

/** A stored event: `data` is JSON, `createdAt` is in milliseconds since 1970. */
export type StoredEvent = { id: string; type: string; data: string; createdAt: number };

/** The event's envelope. It is byte-identical for every subscription and attempt (specification part 6, envelope). */
export function envelopeOf({ id, type, data, createdAt }: StoredEvent): string {
  return `{"id":"${id}","type":"${type}","created_at":"${timestamp(createdAt)}","data":${data}}`;
}
