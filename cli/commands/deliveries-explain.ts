import type { Command } from "commander";
import type { Connection } from "../../src/database/database.ts";
import { attemptsReferredTo } from "../../src/deliveries/attempt-search.ts";
import { selectAttempt } from "../../src/deliveries/attempt-store.ts";
import { explainEvent, type ExplainedEvent, explainMessage } from "../../src/deliveries/explain.ts";
import { DomainError } from "../../src/errors.ts";
import { theOnlyWithId } from "../../src/input/reference.ts";
import { type FoundMessage, messagesReferredTo } from "../../src/messages/search.ts";
import { eventsReferredTo } from "../../src/outbox/event-search.ts";
import { type NumberedEvent, selectNumberedEvent } from "../../src/outbox/event-search-store.ts";
import { getSubscriptionNamed } from "../../src/subscriptions/subscriptions.ts";
import { workspaceTime } from "../../src/system/workspace-clock.ts";
import { addCommand } from "../invocation/command.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { outgoing } from "../invocation/outgoing.ts";
import { explanationLines } from "../terminal/explanation-view.ts";

type ExplainOptions = { webhook?: string };

/** What a command's argument means: an event, or a message with its events. */
type Meant = { event: NumberedEvent } | { message: FoundMessage };

/** Adds `parley deliveries explain`. */
export function addDeliveriesExplain(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "explain <id>", {
    summary: "Say for each subscription what became of an event, and why",
    examples: ["parley deliveries explain 6b8a1c2d", "parley deliveries explain 6b8a1c2d --webhook CI"],
  }).option("--webhook <webhook>", "only this subscription");
  command.usage("EVENT|ATTEMPT|MESSAGE [options]");
  invocation.teamAction(command, async ({ database, team }, reference: string, options: ExplainOptions) => {
    const { meant, subscriptionId } = await database.ask(async (db) => ({
      meant: await meantBy(db, team.id, reference),
      subscriptionId:
        options.webhook === undefined
          ? undefined
          : (await getSubscriptionNamed(db, team.id, options.webhook)).id,
    }));
    const config = invocation.config();
    const parts = {
      ...outgoing(invocation).outgoing,
      now: workspaceTime(),
      maxAttempts: config.webhooksMaxAttempts,
      backoffBaseMs: config.webhooksBackoffBase * 1_000,
      retentionDays: config.webhooksRetentionDays,
      subscriptionId,
    };
    const explained: ExplainedEvent[] =
      "event" in meant
        ? [await explainEvent(database, team.id, meant.event, parts)]
        : await explainMessage(database, team.id, meant.message, parts);
    invocation.output.details(explained, explanationLines(explained));
  });
}

/**
 * What the id, or its start or end, means: an event, an attempt or a message.
 * @throws DomainError `not_found`; `conflict`, with the ids, when it may mean several things, or when the event of the
 *   attempt is no longer stored.
 */
async function meantBy(db: Connection, teamId: string, reference: string): Promise<Meant> {
  const events = await eventsReferredTo(db, teamId, reference);
  const attempts = attemptsReferredTo(db, teamId, reference);
  const messages = messagesReferredTo(db, teamId, reference);
  const all = [
    ...events.map((event) => ({ id: event.id, name: "event", event })),
    ...attempts.map(({ id }) => ({ id, name: "attempt", attempt: id })),
    ...messages.map((message) => ({ id: message.id, name: "message", message })),
  ];
  const found = theOnlyWithId(all, "event, attempt or message", reference);
  if (!("attempt" in found)) return found;
  const { eventSeq } = (await selectAttempt(db, teamId, found.attempt))?.attempt ?? { eventSeq: null };
  const event = eventSeq === null ? undefined : selectNumberedEvent(db, eventSeq);
  if (event) return { event };
  throw new DomainError("conflict", "The event of this attempt is no longer stored.");
}
