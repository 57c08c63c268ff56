import type { WebhookEvent } from "../../src/event-types.ts";
import { type Preview, type PreviewedEvent, previewSubscription } from "../../src/subscriptions/preview.ts";
import type { InTeam, Invocation } from "../invocation/invocation.ts";
import { channelTitle } from "../terminal/channel-view.ts";
import { counted } from "../terminal/quantity.ts";
import { relativeTime } from "../terminal/relative-time.ts";

/** Code points of a message that are shown. */
const textMax = 60;

/** Prints what a subscription for these events would have received since then, in milliseconds since 1970. */
export async function showPreview(
  { output, actor }: Invocation,
  { database, team }: InTeam,
  { events, channel_ids, since }: { events: WebhookEvent[]; channel_ids?: string[]; since: number },
): Promise<void> {
  const preview = await database.ask((db) =>
    previewSubscription(db, {
      teamId: team.id,
      createdBy: actor,
      events,
      channelIds: channel_ids ?? null,
      since,
    }),
  );
  output.details(
    preview,
    [
      ["would have matched", counted(preview.events, "event")],
      ...Object.entries(preview.by_type).map(([type, count]) => [type, count.toLocaleString("en")] as const),
      ["in private channels", counted(preview.in_private_channels, "event")],
      ["in direct messages", counted(preview.in_direct_messages, "event")],
      ...preview.sample.map(
        (event, index) => [index === 0 ? "for example" : "", exampleText(event)] as const,
      ),
      ["looked at", lookedAtText(preview)],
      [
        "counted",
        "from these messages as they are now: all edits of one as one event, reactions if they are still there",
      ],
    ],
    "parley webhooks create",
  );
  output.note("Nothing was created.");
}

function exampleText({ event_type, channel, message_created_at, text }: PreviewedEvent): string {
  const place = channel.is_direct ? "a direct message" : channelTitle(channel);
  const points = Array.from((text ?? "").replace(/\s+/g, " ").trim());
  const shown = points.length > textMax ? `${points.slice(0, textMax - 1).join("")}…` : points.join("");
  return `${event_type}, ${place}, ${relativeTime(message_created_at)}${shown === "" ? "" : `: ${shown}`}`;
}

function lookedAtText({ is_cut, messages_looked_at, since }: Preview): string {
  const messages = counted(messages_looked_at, "message");
  return is_cut ? `only the newest ${messages}, posted since ${since}` : `${messages}, posted since ${since}`;
}
