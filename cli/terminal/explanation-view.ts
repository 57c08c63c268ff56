import type { Explained, ExplainedEvent } from "../../src/deliveries/explain.ts";
import { counted, dueText, timeSpan } from "./quantity.ts";
import { relativeTime } from "./relative-time.ts";

const outcomes: Record<Explained["outcome"], string> = {
  delivered: "delivered",
  given_up: "given up",
  waiting: "waiting",
  queueing: "being queued",
  discarded: "discarded",
  deleted: "dropped",
  withheld: "withheld",
  forgotten: "not known any more",
  missing: "MISSING",
  not_asked: "did not ask for it",
};

/** The explanation as labels and values for people: each event, each subscription, and the parts of its time. */
export function explanationLines(
  explained: readonly ExplainedEvent[],
): Array<readonly [label: string, value: string]> {
  return explained.flatMap(({ event, webhooks }) => {
    const { id, type, created_at, channel } = event;
    const title = `${type} in ${channel.name}, ${relativeTime(created_at)} (${created_at})`;
    const asked = webhooks.filter(({ outcome }) => outcome !== "not_asked");
    const others = webhooks.filter(({ outcome }) => outcome === "not_asked");
    return [
      ["event", id === null ? `${title}, not stored` : title],
      ...(id === null ? [] : [["id", id] as const]),
      ...(webhooks.length === 0 ? [["webhook", "there is no subscription"] as const] : []),
      ...asked.flatMap(linesOf),
      ...others.map(
        ({ webhook, outcome, why }) => ["webhook", `${webhook.name}: ${outcomes[outcome]}; ${why}`] as const,
      ),
    ] as const;
  });
}

function linesOf({ webhook, outcome, why, age_ms, due_at, timeline, replays }: Explained) {
  const age = age_ms === null ? "" : ` after ${timeSpan(age_ms)}`;
  const due = due_at === null ? "" : `, next ${dueText(due_at)}`;
  return [
    ["webhook", `${webhook.name}: ${outcomes[outcome]}${age}${due}; ${why}`] as const,
    ...timeline.map(
      ({ at, duration_ms, what }) => [timeOf(at), `${timeSpan(duration_ms)}: ${what}`] as const,
    ),
    ...(replays.length === 0 ? [] : [["", `replayed: ${counted(replays.length, "time")}`] as const]),
  ];
}

/** The time of day with its milliseconds, by the clock of this machine. */
function timeOf(at: string): string {
  const date = new Date(at);
  return `${date.toLocaleTimeString("en-GB")}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}
