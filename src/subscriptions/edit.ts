import { forbidden, invalid } from "../errors.ts";
import { checkOf } from "../input/validation.ts";
import { selectLastEventSeq } from "../outbox/event-store.ts";
import type { Connection } from "../database/database.ts";
import type { TracedWork } from "../tracing/work.ts";
import { listedSubscription, subscriptionResource } from "./resource.ts";
import { type ListedSubscription, SubscriptionEdit } from "./schemas.ts";
import { replaceFilters, type SubscriptionRow, updateSubscription } from "./store.ts";
import {
  channelErrors,
  distinctIds,
  getSubscription,
  recordSubscription,
  type SubscriptionParts,
} from "./subscriptions.ts";
import { urlErrors } from "./url.ts";

const checkSubscriptionEdit = checkOf(SubscriptionEdit, { takesUnknown: false });

/**
 * Changes the subscription's name, URL, events or channels, and returns it. Its id, secret, creator and log stay. What
 * already waits is sent, to the new URL from its next attempt on; a new URL begins with a clean streak of failures. A
 * change of events or channels holds for what happens from now on.
 * @throws DomainError `not_found`; `forbidden` for another than its creator while deliveries depend on who that is;
 *   `invalid` on a field, as `createSubscription` does.
 */
export async function editSubscription(
  { database, guard, log }: Pick<SubscriptionParts, "database" | "guard" | "log">,
  teamId: string,
  id: string,
  input: unknown,
  actor: string,
  work?: TracedWork,
): Promise<ListedSubscription> {
  const before = await database.ask(async (db) =>
    requireEditor(db, await getSubscription(db, teamId, id), actor),
  );
  const edit = checkSubscriptionEdit(input);
  const errors = {
    ...(edit.url !== undefined && edit.url !== before.url && (await urlErrors(edit.url, guard, log))),
    ...(await database.ask((db) =>
      channelErrors(db, { teamId, createdBy: before.createdBy ?? "" }, edit.channel_ids ?? []),
    )),
  };
  if (Object.keys(errors).length > 0) throw invalid(errors);

  return await database.write(async (tx) => {
    const row = requireEditor(tx, await getSubscription(tx, teamId, id), actor);
    const edited = withEdit(row, edit);
    const changed = editable.filter((field) => edited[field] !== row[field]);
    if (changed.length === 0) return listedSubscription(row);
    const hasMoved = changed.includes("url");
    if (hasMoved) edited.consecutiveFailures = 0;
    const { name, url, events, channelIds, consecutiveFailures } = edited;
    await updateSubscription(tx, row.id, { name, url, events, channelIds, consecutiveFailures });
    const { events: eventTypes, channel_ids } = subscriptionResource(edited);
    if (changed.some((field) => field !== "name"))
      await replaceFilters(tx, edited, eventTypes, channel_ids, await selectLastEventSeq(tx));
    // So that a pause because of the receiver before ends.
    if (hasMoved) tx.commit.subscriptionsWithWork.add(row.id);
    await recordSubscription(tx, row, "webhook.edited", actor, {
      changed: changed.map((field) => nameOf[field]),
    });
    return listedSubscription(edited);
  }, work);
}

const nameOf = { name: "name", url: "url", events: "events", channelIds: "channel_ids" } as const;
const editable = Object.keys(nameOf) as Array<keyof typeof nameOf>;

function withEdit(row: SubscriptionRow, edit: SubscriptionEdit): SubscriptionRow {
  const { name = row.name, url = row.url, events, channel_ids } = edit;
  const channelIds = distinctIds(channel_ids);
  return {
    ...row,
    name,
    url,
    events: events === undefined ? row.events : [...new Set(events)].join(" "),
    channelIds:
      channel_ids === undefined ? row.channelIds : channelIds === null ? null : JSON.stringify(channelIds),
  };
}

/**
 * Returns the subscription. While deliveries depend on what their creators may see, somebody else could send what only
 * the creator sees to an address of their own.
 */
function requireEditor(db: Connection, row: SubscriptionRow, actor: string): SubscriptionRow {
  if (db.webhooksVisibility === "workspace" || actor.startsWith("cli:") || row.createdBy === actor)
    return row;
  throw forbidden("While WEBHOOKS_VISIBILITY is creator, a subscription can be edited only by its creator.");
}
