import type { Command } from "commander";
import { listAllChannels } from "../../src/channels/channels.ts";
import { listWaiting, type WaitingEvent } from "../../src/deliveries/waiting.ts";
import { pendingOf } from "../../src/subscriptions/status.ts";
import { addCommand } from "../invocation/command.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { chosenSubscription } from "../invocation/subscription-reference.ts";
import { wholeNumber } from "../invocation/whole-number.ts";
import { channelTitle } from "../terminal/channel-view.ts";
import { idColumns } from "../terminal/id-columns.ts";
import { counted, dueText } from "../terminal/quantity.ts";
import { relativeTime } from "../terminal/relative-time.ts";

const eventsMax = 1_000;

/** From so many columns on, ids and channels are shown in full. */
const roomForIds = 110;

/** `parley webhooks waiting`: the events that wait to be sent to a subscription. */
export function addWaitingEvents(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "waiting [webhook]", {
    summary: "List the events that wait to be sent to a subscription, next first",
    examples: ["parley webhooks waiting CI"],
  }).option("--limit <count>", "maximum number of events", wholeNumber(1, eventsMax), 50);
  invocation.teamAction(command, async (at, given: string | undefined, { limit }: { limit: number }) => {
    const { id, name, status } = await chosenSubscription(invocation, at, given);
    const { events, count, channels } = await at.database.ask(async (db) => ({
      events: await listWaiting(db, at.team.id, id, limit),
      count: (await pendingOf(db, at.team.id, id)).count,
      channels: await listAllChannels(db, at.team.id),
    }));
    const { output } = invocation;
    const titles = new Map(channels.map((channel) => [channel.id, channelTitle(channel)]));
    if (count > events.length) output.note(`${counted(count, "event")} wait in all.`);
    output.list(
      events,
      [
        { title: "WHEN", of: ({ created_at }) => relativeTime(created_at) },
        { title: "EVENT", of: ({ event_type }) => event_type },
        {
          title: "CHANNEL",
          of: ({ channel_id }) => titles.get(channel_id) ?? "",
          canShrink: true,
          dropsBelow: roomForIds,
        },
        { title: "MESSAGE", of: ({ text }) => text ?? "", canShrink: true },
        { title: "TRIES", of: ({ attempts }) => String(attempts) },
        { title: "NEXT", of: nextText },
        ...idColumns<WaitingEvent>(({ event_id }) => event_id, roomForIds),
      ],
      {
        none: `Nothing waits for ${name}.`,
        ...(events.length > 0 && {
          next: status === "disabled" ? `parley webhooks enable ${id}` : "parley deliveries explain ID",
        }),
      },
    );
  });
}

function nextText({ next_due_at, withheld }: WaitingEvent): string {
  if (withheld) return "withheld";
  return next_due_at === null ? "once enabled" : dueText(next_due_at);
}
