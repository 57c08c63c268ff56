import { expect } from "bun:test";
import type { CrashCopy } from "./crash-copy.ts";
import { keyOf, type Sender } from "./load.ts";
import type { Subscribed } from "./subscribed.ts";

/** Finds a job or a fan-out that is still to be done: those of deleted subscriptions wait for retention. */
export const undone = `SELECT event_seq FROM jobs JOIN subscriptions ON subscriptions.id = subscription_id
  WHERE deleted_at IS NULL UNION ALL SELECT event_seq FROM fan_outs LIMIT 1`;

/** What the tables hold, on either engine. */
export type Rows = Pick<CrashCopy, "column" | "envelopes">;

/** Expects that each receiver was told of every acknowledged change that it wanted, and of each properly. */
export function expectEveryChangeDelivered(
  senders: readonly Sender[],
  subscribed: readonly Subscribed[],
): void {
  for (const { receiver, events, channelIds } of subscribed) {
    const told = new Set([...receiver.delivered.values()].map(({ body }) => keyOf(body)));
    const untold = senders
      .flatMap(({ acknowledged }) => acknowledged)
      .filter(({ type, channelId }) => events.includes(type) && (channelIds?.includes(channelId) ?? true))
      .filter(({ key }) => !told.has(key));
    expect(untold).toEqual([]);
    expect(receiver.faults).toEqual([]);
  }
}

/** Each event has a cause and each change an event; the log has one success per delivery, and the queue is empty. */
export async function expectWhole(copy: Rows, subscribed: readonly Subscribed[]): Promise<void> {
  expect(await copy.column(undone)).toEqual([]);
  const withGaps = `SELECT channels.id FROM channels JOIN messages ON channel_id = channels.id GROUP BY channels.id
    HAVING count(*) <> max(position) OR min(position) <> 1 OR max(position) <> last_position`;
  expect(await copy.column(withGaps)).toEqual([]);

  // Only the last text of an edited message is stored, and no text of a deleted one.
  const changes = await copy.column(`
    SELECT CASE type WHEN 'standard' THEN 'message.created ' || id ELSE type || ' ' || author_id END FROM messages UNION ALL
    SELECT 'message.updated ' || id || ' ' || body FROM messages WHERE edited_at > 0 AND deleted_at IS NULL UNION ALL
    SELECT 'message.deleted ' || id FROM messages WHERE deleted_at IS NOT NULL UNION ALL
    SELECT 'reaction.added ' || message_id || ' ' || emoji FROM reactions UNION ALL
    SELECT 'channel.member_added ' || author_id FROM messages WHERE type = 'member_joined'`);
  const envelopes = await copy.envelopes();
  const events = envelopes.map(keyOf);
  const told = new Set(events);
  expect(told.size).toBe(events.length);
  expect(changes.filter((change) => !told.has(change))).toEqual([]);
  const made = new Set(changes);
  const edited = new Set(await copy.column("SELECT id FROM messages WHERE edited_at > 0"));
  const isOldEdit = (key: string) =>
    key.startsWith("message.updated ") && edited.has(key.split(" ")[1] ?? "");
  expect(events.filter((event) => !made.has(event) && !isOldEdit(event))).toEqual([]);

  const isStored = new Set(envelopes);
  const ids = subscribed.map(({ id }) => `'${id}'`).join(", ");
  const successes = await copy.column(
    `SELECT subscription_id || ' ' || event_id FROM attempts WHERE succeeded = 1 AND subscription_id IN (${ids})`,
  );
  const isAmongThem = new Set(successes);
  expect(isAmongThem.size, "deliveries that are in the log as successes twice").toBe(successes.length);
  for (const { id, receiver } of subscribed) {
    for (const [event, { body }] of receiver.delivered) {
      expect([isStored.has(body), isAmongThem.has(`${id} ${event}`)]).toEqual([true, true]);
    }
  }
  expect(successes).toHaveLength(subscribed.reduce((sum, { receiver }) => sum + receiver.delivered.size, 0));
}
