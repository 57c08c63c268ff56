import { nearEndMs } from "../../src/alerts/certificate-alerts.ts";
import type { SubscriptionHealth } from "../../src/deliveries/subscription-health.ts";
import type { WebhookSubscription } from "../../src/subscriptions/schemas.ts";
import type { Color } from "./color.ts";
import { counted, dueText, timeSpan } from "./quantity.ts";
import { relativeTime } from "./relative-time.ts";
import { sparkline } from "./sparkline.ts";

/** A subscription with how it does. */
export type WithHealth = WebhookSubscription & { health: SubscriptionHealth };

/** For how long every attempt has failed, or the subscription has been disabled, for a column. */
export function troubleText({ disabled_at, health }: WithHealth): string {
  const since = disabled_at ?? health.failing_since;
  return since === null ? "" : timeSpan(Date.now() - Date.parse(since));
}

/** Green for an active subscription, yellow for one whose last attempt failed, red for a disabled one. */
export function statusColor({ status, health }: WithHealth): Color {
  if (status === "disabled") return "red";
  return health.failing_since === null ? "green" : "yellow";
}

/** How many events wait, for a column; nothing when none does. */
export function waitingText({ health: { waiting } }: WithHealth): string {
  if (waiting.count === 0) return "";
  return waiting.is_more ? `> ${waiting.count.toLocaleString("en")}` : waiting.count.toLocaleString("en");
}

/** The share of attempts of the last 24 hours that succeeded, for a column; nothing without attempts. */
export function rateText({ health: { day } }: WithHealth): string {
  return day.attempts === 0 ? "" : percent(day.succeeded / day.attempts);
}

/** How the subscription does, as labels and values. */
export function healthLines(shown: WithHealth): Array<readonly [label: string, value: string]> {
  const { health } = shown;
  const { day, waiting, next_due_at, old_secret_until, certificate_ends_at: ends } = health;
  const next = next_due_at === null ? "" : `, next ${dueText(next_due_at)}`;
  const count = waiting.is_more
    ? `more than ${counted(waiting.count, "event")}`
    : counted(waiting.count, "event");
  return [
    ["status", failingText(shown)],
    ["waiting", `${count}${next}`],
    ...(old_secret_until === null ? [] : [["old secret", `signs too until ${old_secret_until}`] as const]),
    ...(ends === null ? [] : [["certificate", certificateText(ends)] as const]),
    ["last 24 hours", dayText(day)],
    ...(day.attempts === 0 ? [] : [["by the hour", sparkline(day.hours)] as const]),
  ];
}

/** What a list says of the receivers whose certificates end soon, a line for each. */
export function certificateNotes(subscriptions: readonly WithHealth[]): string[] {
  return subscriptions.flatMap(({ name, health: { certificate_ends_at: ends } }) =>
    ends !== null && Date.parse(ends) - Date.now() <= nearEndMs
      ? [`The certificate of ${name} ${certificateText(ends)}.`]
      : [],
  );
}

function failingText({ status, disabled_at, health }: WithHealth): string {
  const { failing_since, failures, last_error } = health;
  const failing =
    failing_since === null
      ? ""
      : `failing since ${timeSpan(Date.now() - Date.parse(failing_since))} ` +
        `(${failures.is_more ? "more than " : ""}${counted(failures.count, "attempt")}, ${last_error ?? "failed"})`;
  if (status === "disabled")
    return [`disabled ${relativeTime(disabled_at)}`, failing].filter(Boolean).join("; ");
  return failing || status;
}

function certificateText(endsAt: string): string {
  const leftMs = Date.parse(endsAt) - Date.now();
  return leftMs > 0 ? `ends in ${timeSpan(leftMs)}` : `ended ${timeSpan(-leftMs)} ago`;
}

function dayText({ attempts, succeeded, p50_ms, p95_ms, is_sample }: SubscriptionHealth["day"]): string {
  if (attempts === 0) return "no attempts";
  const of = is_sample ? `the latest ${counted(attempts, "attempt")}` : counted(attempts, "attempt");
  return `${percent(succeeded / attempts)} of ${of} succeeded; half within ${p50_ms} ms, 95 % within ${p95_ms} ms`;
}

/** `100 %` only if it is all of them. */
function percent(share: number): string {
  return `${share === 1 ? 100 : Math.min(99.9, Math.round(share * 1_000) / 10)} %`;
}
