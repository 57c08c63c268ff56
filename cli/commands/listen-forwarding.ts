import { hostname } from "node:os";
import { attempt, type Outcome } from "../../src/deliveries/attempt.ts";
import { prepare } from "../../src/deliveries/prepare.ts";
import { DomainError, forbidden } from "../../src/errors.ts";
import { type WebhookEvent, webhookEvents } from "../../src/event-types.ts";
import { Feed } from "../../src/feed/feed.ts";
import type { EventPage } from "../../src/feed/schemas.ts";
import { placeOf } from "../../src/outbox/cursor.ts";
import {
  createSubscription,
  deleteSubscription,
  listAllSubscriptions,
} from "../../src/subscriptions/subscriptions.ts";
import { hasCode } from "../../src/system/error-code.ts";
import { workspaceTime } from "../../src/system/workspace-clock.ts";
import { changed } from "../invocation/changes.ts";
import type { InTeam, Invocation } from "../invocation/invocation.ts";
import { outgoing } from "../invocation/outgoing.ts";
import { channelIdsOf, subscriptionParts } from "../invocation/subscription-parts.ts";
import { prettyLines } from "../terminal/pretty-json.ts";

/** What `listen --forward-to` was asked for; `secret` signs in place of the new subscription's. */
export type ForwardOptions = {
  forwardTo: string;
  event?: WebhookEvent[];
  channel?: string[];
  secret: string | undefined;
};

type FeedEvent = EventPage["data"][number];

/** The name of a subscription that this makes has machine and process, so that the next run can tidy up. */
const ownName = /^parley listen (\S+) ([0-9]+)$/;

/**
 * Makes a subscription that is only read, sends each of its events to the address as the server would deliver it, and
 * prints it with the answer, until `stopped`; then deletes the subscription. The address is that of whoever runs the
 * command, so the address guard has no say in it: the server sends nothing there.
 * @throws DomainError `usage` for an address that is no http or https URL; `forbidden` while the integrations are
 *   disabled; `not_found` when somebody deletes the subscription meanwhile.
 */
export async function forward(
  invocation: Invocation,
  options: ForwardOptions,
  stopped: Promise<void>,
): Promise<void> {
  const url = receiverOf(options.forwardTo);
  if (!invocation.config().integrationsEnabled)
    throw forbidden("The integrations platform is disabled: INTEGRATIONS_ENABLED is false.");
  await invocation.inTeam(async (at) => {
    await removeLeftOver(invocation, at);
    const { id, secret } = await subscribe(invocation, at, options);
    try {
      const signsWith = options.secret ?? secret;
      const isOwn = options.secret === undefined;
      invocation.output.done({
        data: { id, forward_to: url, ...(isOwn && { secret }) },
        said: [
          `Forwarding to ${url}. Stop it with Ctrl-C.`,
          ...(isOwn ? ["Deliveries are signed with this secret:", "", `  ${secret}`, ""] : []),
        ],
        brief: signsWith,
      });
      await forwardEach(invocation, at, { id, url, secret: signsWith }, stopped);
    } finally {
      await removeOwn(invocation, at, id);
    }
  });
}

/** @throws DomainError `usage`. */
function receiverOf(text: string): string {
  const url = URL.parse(text);
  if (url?.protocol === "http:" || url?.protocol === "https:") return url.href;
  throw new DomainError("usage", `--forward-to takes an http or https URL, not ${JSON.stringify(text)}.`);
}

/** Deletes what runs on this machine left behind that were killed. */
async function removeLeftOver({ output, actor }: Invocation, { database, team }: InTeam): Promise<void> {
  for (const { id, name } of await database.ask((db) => listAllSubscriptions(db, team.id))) {
    const [, host, pid] = ownName.exec(name) ?? [];
    if (host !== hostname() || isRunning(Number(pid))) continue;
    await database.write((tx) => deleteSubscription(tx, team.id, id, actor));
    output.note(`Deleted the subscription ${name}, which a run that was killed had left.`);
  }
}

/** Whether another process has the number; after a restart of a container this one may have that of the killed one. */
function isRunning(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return hasCode(error, "EPERM");
  }
}

async function subscribe(
  invocation: Invocation,
  at: InTeam,
  { event, channel }: ForwardOptions,
): Promise<{ id: string; secret: string }> {
  const input = {
    name: `parley listen ${hostname()} ${process.pid}`,
    pull: true,
    events: event ?? webhookEvents,
    ...(channel && { channel_ids: await channelIdsOf(at, channel) }),
  };
  const parts = subscriptionParts(invocation, at);
  const { data, secret } = await createSubscription(parts, at.team.id, input, invocation.actor);
  return { id: data.id, secret };
}

async function forwardEach(
  invocation: Invocation,
  { database, team }: InTeam,
  { id, url, secret }: { id: string; url: string; secret: string },
  stopped: Promise<void>,
): Promise<void> {
  const stopping = new AbortController();
  void stopped.then(() => stopping.abort());
  const { signal } = stopping;
  // A reader that has seen enough, such as `head`, closes the pipe.
  process.stdout.once("error", () => stopping.abort());
  const { outgoing: sending } = outgoing(invocation);
  const feed = new Feed(database);
  const reader = {
    teamId: team.id,
    tokenId: id,
    signal,
    beSilentFor: () => {},
    requireStillValid: () => {},
  };
  try {
    let after: string | undefined;
    for (let seen = 0; !signal.aborted;) {
      const { data, meta } = await feed.read(reader, id, after === undefined ? {} : { after });
      for (const event of data) {
        if (signal.aborted) return;
        const request = requestOf(event, secret);
        const outcome = await attempt({ ...sending, guard: { blockPrivate: false } }, url, request);
        print(invocation, event, outcome);
      }
      after = meta.next;
      if (meta.caught_up) seen = await changed(database, seen, () => signal.aborted);
    }
  } finally {
    feed.stop();
  }
}

/** The delivery of the event, as the server would send it now. */
function requestOf({ cursor, event }: FeedEvent, secret: string) {
  const { id, type } = event;
  const message = { id, type, envelope: JSON.stringify(event), eventSeq: placeOf(cursor)?.seq ?? null };
  return prepare(message, { secrets: [secret], headers: {} }, workspaceTime());
}

function print({ output }: Invocation, { event }: FeedEvent, { status, error, durationMs }: Outcome): void {
  // Standard output holds one document, as with `serve`; deliveries go to the log.
  if (output.isJson) {
    output.log({ event, response_status: status, error, duration_ms: durationMs });
    return;
  }
  output.line(`${new Date().toLocaleTimeString("en-GB")}  ${event.type}  ${event.id}`);
  for (const line of prettyLines(JSON.stringify(event))) output.line(`  ${line}`);
  output.line(`  response: ${status ?? error} in ${durationMs} ms`);
}

/** Deletes the subscription, unless somebody else has. */
async function removeOwn({ actor }: Invocation, { database, team }: InTeam, id: string): Promise<void> {
  try {
    await database.write((tx) => deleteSubscription(tx, team.id, id, actor));
  } catch (error) {
    if (!(error instanceof DomainError && error.code === "not_found")) throw error;
  }
}
