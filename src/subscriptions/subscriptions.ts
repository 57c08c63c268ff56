import { record } from "../audit/audit.ts";
import { selectChannelIds } from "../channels/store.ts";
import type { Database, Connection, Transaction } from "../database/database.ts";
import type { AddressGuard } from "../outbound/address-guard.ts";
import { selectLastEventSeq } from "../outbox/event-store.ts";
import { type FieldErrors, forbidden, invalid, notFound } from "../errors.ts";
import type { Log } from "../log/log.ts";
import type { TracedWork } from "../tracing/work.ts";
import type { Vault } from "../secrets/vault.ts";
import { theOnly, theOnlyWithId } from "../input/reference.ts";
import { isUuid } from "../input/text.ts";
import { newSecret } from "../secrets/secret-text.ts";
import { selectActor } from "../users/store.ts";
import { checkOf } from "../input/validation.ts";
import { listedSubscription, subscriptionResource } from "./resource.ts";
import {
  type ListedSubscription,
  PulledSubscriptionInput,
  SentSubscriptionInput,
  type WebhookSubscription,
} from "./schemas.ts";
import {
  deleteFilters,
  hasSubscriptions,
  insertSubscription,
  replaceFilters,
  selectSubscription,
  selectSubscriptions,
  type SubscriptionRow,
  updateSubscription,
} from "./store.ts";
import { changedHeaders, headerNamesOf } from "./headers.ts";
import { checkedHeaders } from "./header-rules.ts";
import { checkedSecret } from "./own-secret.ts";
import { urlErrors } from "./url.ts";
import { isForCreator } from "../outbox/creator-visibility.ts";
import { newId, now } from "../system/repeatable.ts";

/** A field that is misspelt would mean less or more than was meant: without `channel_ids`, the whole workspace. */
const checkSentInput = checkOf(SentSubscriptionInput, { takesUnknown: false });
const checkPulledInput = checkOf(PulledSubscriptionInput, { takesUnknown: false });

/** What creating a subscription depends on. */
export type SubscriptionParts = {
  database: Database;
  guard: AddressGuard;
  vault: Vault;
  log: Pick<Log, "warn">;
  /** The maximum number of subscriptions per team. */
  maxSubscriptions: number;
};

/**
 * Creates a subscription of the team and returns it with its signing secret, `ownSecret` or one that is made, which is
 * shown only here. The URL is vetted before anything is written, which may take a DNS look-up.
 * @throws DomainError `invalid` on a field: on `url` when it is not publicly reachable or the team is at its limit; on
 *   `channel_ids.N` for a channel of another team, or one that the creator may not see if deliveries depend on that; on
 *   `headers` or `headers.NAME`. Without a field for an `ownSecret` that cannot sign or is weak. `forbidden` when the
 *   creator was deactivated in the meantime; `key_missing` when the secret or a header cannot be stored.
 */
export async function createSubscription(
  { database, guard, vault, log, maxSubscriptions }: SubscriptionParts,
  teamId: string,
  input: unknown,
  actor: string,
  { work, ownSecret }: { work?: TracedWork | undefined; ownSecret?: string | undefined } = {},
): Promise<{ data: WebhookSubscription; secret: string }> {
  const { name, url, events, channel_ids, headers } = checkedInput(input);
  const secret = ownSecret === undefined ? newSecret("whsec_") : checkedSecret(ownSecret);
  const channelIds = distinctIds(channel_ids);
  const { change, errors: headerErrors } = checkedHeaders(headers ?? {}, { canRemove: false });
  const errors: FieldErrors = {
    ...(url !== "" && (await urlErrors(url, guard, log))),
    ...headerErrors,
    ...(await database.ask((db) => channelErrors(db, { teamId, createdBy: actor }, channel_ids ?? []))),
  };
  if (Object.keys(errors).length > 0) throw invalid(errors);

  const id = newId();
  const eventTypes = [...new Set(events)];
  const row = await database.write(async (tx) => {
    requireActiveCreator(tx, teamId, actor);
    if (hasSubscriptions(tx, teamId, maxSubscriptions)) throw invalid({ url: [atLimit(maxSubscriptions)] });
    const afterEvent = await selectLastEventSeq(tx);
    const created: SubscriptionRow = {
      id,
      teamId,
      name,
      url,
      events: eventTypes.join(" "),
      channelIds: channelIds === null ? null : JSON.stringify(channelIds),
      status: "active",
      consecutiveFailures: 0,
      lastSuccessAt: null,
      disabledAt: null,
      secret: await vault.seal(tx, secret, `subscriptions:${id}`),
      previousSecret: null,
      previousSecretUntil: null,
      deletedAt: null,
      createdAt: now(),
      createdBy: actor,
      afterEvent,
      certificateEndsAt: null,
      ...(await changedHeaders(tx, vault, { id, headers: null, headerNames: "" }, change)),
    };
    await insertSubscription(tx, created);
    await replaceFilters(tx, created, eventTypes, channelIds, afterEvent);
    await recordSubscription(tx, created, "webhook.created", actor, {
      events: eventTypes,
      ...(change.size > 0 && { header_names: headerNamesOf(created) }),
    });
    return created;
  }, work);
  return { data: subscriptionResource(row), secret };
}

/** Returns the input with the empty string as the URL of a subscription that has none. */
function checkedInput(input: unknown) {
  const { pull, url, headers } = (typeof input === "object" && input !== null ? input : {}) as Record<
    string,
    unknown
  >;
  if (pull === true) {
    if ((url ?? null) !== null) throw invalid({ url: ["The url field must be null with pull."] });
    if ((headers ?? null) !== null) throw invalid({ headers: [headersOfNothing] });
    return { ...checkPulledInput(input), url: "" };
  }
  return checkSentInput(input);
}

/** The error for headers of a subscription without a URL. */
export const headersOfNothing =
  "The headers field must be left out where events are only read: nothing is sent.";

/**
 * A DNS look-up takes seconds. If the creator was deactivated during it, their subscriptions have already been
 * disabled.
 */
function requireActiveCreator(tx: Transaction, teamId: string, actor: string): void {
  const user = selectActor(tx, teamId, actor);
  if (user && user.deactivatedAt !== null) throw forbidden(`${user.name} is deactivated.`);
}

function atLimit(maxSubscriptions: number): string {
  return (
    `This workspace has reached its limit of ${maxSubscriptions.toLocaleString("en")} subscriptions. Delete one, or ` +
    "raise WEBHOOKS_MAX_SUBSCRIPTIONS on the server."
  );
}

/** The team's subscriptions, newest first. */
export async function listSubscriptions(db: Connection, teamId: string): Promise<WebhookSubscription[]> {
  return (await selectSubscriptions(db, teamId)).map(subscriptionResource);
}

/** The team's subscriptions with their creators, newest first, for the operator. */
export async function listAllSubscriptions(db: Connection, teamId: string): Promise<ListedSubscription[]> {
  return (await selectSubscriptions(db, teamId)).map(listedSubscription);
}

/**
 * The team's subscription.
 * @throws DomainError `not_found` when the team has no such subscription.
 */
export async function getSubscription(db: Connection, teamId: string, id: string): Promise<SubscriptionRow> {
  const row = isUuid(id) ? await selectSubscription(db, teamId, id.toLowerCase()) : undefined;
  if (!row) throw notFound("webhook subscription");
  return row;
}

/**
 * The subscription that a command's argument refers to by id, by name, or by the start or end of its id.
 * @throws DomainError `not_found`, or `conflict` with the ids when it may mean several.
 */
export async function getSubscriptionNamed(
  db: Connection,
  teamId: string,
  reference: string,
): Promise<ListedSubscription> {
  const all = await listAllSubscriptions(db, teamId);
  const ofId = all.find(({ id }) => id === reference.toLowerCase());
  if (ofId) return ofId;
  const named = all.filter(({ name }) => name === reference);
  return named.length > 0
    ? theOnly(named, "subscription", reference)
    : theOnlyWithId(all, "subscription", reference);
}

/**
 * Deletes the subscription: nothing is sent from now on, and retention drops its waiting jobs in small steps. Returns
 * the subscription as it was.
 * @throws DomainError `not_found`.
 */
export async function deleteSubscription(
  tx: Transaction,
  teamId: string,
  id: string,
  actor: string,
): Promise<ListedSubscription> {
  const row = await getSubscription(tx, teamId, id);
  await updateSubscription(tx, row.id, { deletedAt: now() });
  await deleteFilters(tx, row.id);
  await recordSubscription(tx, row, "webhook.deleted", actor);
  return listedSubscription(row);
}

/** Records an action on the subscription in the audit log, never with its secret or the value of a header. */
export async function recordSubscription(
  tx: Transaction,
  row: SubscriptionRow,
  action: string,
  actor: string,
  details: Record<string, unknown> = {},
): Promise<void> {
  await record(tx, {
    teamId: row.teamId,
    actor,
    action,
    target: `webhook:${row.id}`,
    details: { name: row.name, ...details },
  });
}

/** The channels that a subscription is restricted to, each once; null for all. */
export function distinctIds(channelIds: readonly string[] | null | undefined): string[] | null {
  return channelIds ? [...new Set(channelIds.map((id) => id.toLowerCase()))] : null;
}

/** Errors for the channels that are none of the team, or that the creator may not see if deliveries depend on that. */
export async function channelErrors(
  db: Connection,
  creator: { teamId: string; createdBy: string },
  ids: readonly string[],
): Promise<FieldErrors> {
  const lowerCaseIds = ids.map((id) => id.toLowerCase());
  const known = new Set(await selectChannelIds(db, creator.teamId, lowerCaseIds));
  const errors: FieldErrors = {};
  for (const [index, id] of lowerCaseIds.entries()) {
    if (known.has(id) && isForCreator(db, creator, id)) continue;
    errors[`channel_ids.${index}`] = [
      `The channel_ids.${index} field must name a channel of this workspace.`,
    ];
  }
  return errors;
}
