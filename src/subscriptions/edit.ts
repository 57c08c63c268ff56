import { forbidden, invalid } from "../errors.ts";
import { checkOf } from "../input/validation.ts";
import { selectLastEventSeq } from "../outbox/event-store.ts";
import type { Connection } from "../database/database.ts";
import type { TracedWork } from "../tracing/work.ts";
import { type HeaderChange, checkedHeaders } from "./header-rules.ts";
import { changedHeaders, headerNamesOf, namesThatStay } from "./headers.ts";
import { listedSubscription, subscriptionResource } from "./resource.ts";
import { type ListedSubscription, SubscriptionEdit } from "./schemas.ts";
import { replaceFilters, type SubscriptionRow, updateSubscription } from "./store.ts";
import {
  channelErrors,
  distinctIds,
  getSubscription,
  headersOfNothing,
  recordSubscription,
  type SubscriptionParts,
} from "./subscriptions.ts";
import { urlErrors } from "./url.ts";

const checkSubscriptionEdit = checkOf(SubscriptionEdit, { takesUnknown: false });

/**
 * Changes the subscription's name, URL, events, channels or headers, and returns it. Its id, secret, creator and log stay. What
 * already waits is sent, to the new URL from its next attempt on; a new URL begins with a clean streak of failures. A
 * change of events or channels holds for what happens from now on; one of headers, for what is sent from now on.
 * @throws DomainError `not_found`; `forbidden` for another than its creator while deliveries depend on who that is;
 *   `invalid` on a field, as `createSubscription` does, and on `url` when headers would go to another host; `key_missing`
 *   when headers cannot be stored, or those that stay cannot be read.
 */
export async function editSubscription(
  { database, guard, vault, log }: Pick<SubscriptionParts, "database" | "guard" | "vault" | "log">,
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
  const { change, errors: headerErrors } = checkedHeaders(edit.headers ?? {}, { canRemove: true });
  const headerChange = edit.headers === null ? null : change;
  const errors = {
    ...(edit.url !== undefined && edit.url !== before.url && (await urlErrors(edit.url, guard, log))),
    ...(await database.ask((db) =>
      channelErrors(db, { teamId, createdBy: before.createdBy ?? "" }, edit.channel_ids ?? []),
    )),
    ...headerErrors,
  };
  if (Object.keys(errors).length > 0) throw invalid(errors);

  return await database.write(async (tx) => {
    const row = requireEditor(tx, await getSubscription(tx, teamId, id), actor);
    requireHeadersStay(row, edit, headerChange);
    const edited = { ...withEdit(row, edit), ...(await changedHeaders(tx, vault, row, headerChange)) };
    const changed = editable.filter((field) => edited[field] !== row[field]);
    if (changed.length === 0) return listedSubscription(row);
    const hasMoved = changed.includes("url");
    if (hasMoved) Object.assign(edited, { consecutiveFailures: 0, certificateEndsAt: null });
    const { name, url, events, channelIds, consecutiveFailures, headers, headerNames } = edited;
    const { certificateEndsAt } = edited;
    const columns = {
      name,
      url,
      events,
      channelIds,
      consecutiveFailures,
      headers,
      headerNames,
      certificateEndsAt,
    };
    await updateSubscription(tx, row.id, columns);
    const { events: eventTypes, channel_ids } = subscriptionResource(edited);
    if (changed.some((field) => field !== "name" && field !== "headers"))
      await replaceFilters(tx, edited, eventTypes, channel_ids, await selectLastEventSeq(tx));
    // So that a pause because of the receiver before ends, or because the headers could not be read.
    if (hasMoved || changed.includes("headers")) tx.commit.subscriptionsWithWork.add(row.id);
    await recordSubscription(tx, row, "webhook.edited", actor, {
      changed: changed.map((field) => nameOf[field]),
      ...(changed.includes("headers") && { header_names: headerNamesOf(edited) }),
    });
    return listedSubscription(edited);
  }, work);
}

const nameOf = {
  name: "name",
  url: "url",
  events: "events",
  channelIds: "channel_ids",
  headers: "headers",
} as const;
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
 * A header is for the receiver that it was given for, so it must not go elsewhere with whoever changes the URL and cannot
 * read it.
 * @throws DomainError `invalid` when the URL moves to another host and a header stays, and for headers without a URL.
 */
function requireHeadersStay(
  row: SubscriptionRow,
  { url = row.url }: SubscriptionEdit,
  change: HeaderChange | null,
): void {
  if (url === "" && change && change.size > 0) throw invalid({ headers: [headersOfNothing] });
  const stay = change ? namesThatStay(row, change) : [];
  if (stay.length === 0 || new URL(url).origin === new URL(row.url).origin) return;
  throw invalid({
    url: [
      "The url field names another host, which must not get the headers of the one before. Give each again, or remove " +
        `it: ${stay.join(", ")}.`,
    ],
  });
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
