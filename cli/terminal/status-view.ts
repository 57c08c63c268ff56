import type { Backlog, TroubledSubscription, WorkspaceStatus } from "../../src/status/status.ts";
import type { NodeStatus } from "../../src/status/nodes.ts";
import type { Standby } from "../../src/database/postgres/server-state.ts";
import { sparkline } from "./sparkline.ts";
import { byteSize, counted, timeSpan } from "./quantity.ts";
import { relativeTime } from "./relative-time.ts";

/** How many subscriptions are listed by name; the JSON has all of them. */
const namesShown = 5;

/** The status as labels and values for people. */
export function statusLines(status: WorkspaceStatus): Array<readonly [label: string, value: string]> {
  const { size, subscriptions, waiting_for_disabled } = status;
  const { failing, disabled } = subscriptions;
  const several = status.teams > 1;
  return [
    ["version", status.version],
    ["data folder", status.data_dir],
    ...(status.nodes ? nodeLines(status.nodes, status.version) : serverLines(status)),
    ...(status.postgres ? postgresLines(status.postgres) : []),
    ["size", sizeText(size)],
    ["backup", status.postgres ? "by PostgreSQL's own means (parley backup)" : backupText(status.backup)],
    ...(size.free_bytes === null ? [] : [["disk", `${byteSize(size.free_bytes)} free`] as const]),
    ...holdLines(status),
    ["queue", queueText(status)],
    ["subscriptions", subscriptionsText(subscriptions)],
    ...listed(
      failing,
      "failing",
      (each) => `${titleOf(each, several)}, ${counted(each.consecutive_failures, "failure")} in a row`,
    ),
    ...listed(disabled, "disabled", (each) => `${titleOf(each, several)}, ${relativeTime(each.disabled_at)}`),
    ...(waiting_for_disabled.jobs > 0
      ? [["kept for them", backlogText(waiting_for_disabled, "event")] as const]
      : []),
  ];
}

/** The next useful command; undefined when all is well. */
export function statusAdvice({ server, nodes, hold, subscriptions }: WorkspaceStatus): string | undefined {
  const [failing] = subscriptions.failing;
  const [disabled] = subscriptions.disabled;
  if (hold) return "parley deliveries held";
  if (nodes ? nodes.length === 0 : !server.running) return "parley serve";
  if (failing) return "parley deliveries list --failed";
  return disabled && `parley webhooks enable ${disabled.id}`;
}

/** The latest rate and, as bars, those before it. */
export function rateText(rates: readonly number[]): string {
  const latest = rates.at(-1);
  if (latest === undefined) return "…";
  const number = latest < 10 ? latest.toFixed(1) : Math.round(latest).toLocaleString("en");
  return `${`${number}/s`.padEnd("10,000/s".length)} ${sparkline(rates)}`.trimEnd();
}

function serverLines({ server, version: own }: WorkspaceStatus): Array<readonly [string, string]> {
  const { running, url, pid, version, started_at } = server;
  if (!running) return [["server", "not running"]];
  if (url === null) return [["server", "running, but its address is not known"]];
  const otherVersion = version === own ? "" : `, parley ${version}`;
  return [
    ["server", `running at ${url}`],
    ["", `started ${relativeTime(started_at)}, process ${pid}${otherVersion}`],
  ];
}

/** A node that was not heard from for longer than this may hang, in milliseconds; it says so every two seconds. */
const quietMs = 10_000;

function nodeLines(nodes: readonly NodeStatus[], own: string): Array<readonly [string, string]> {
  if (nodes.length === 0) return [["nodes", "none runs"]];
  return nodes.map((node, index) => {
    const { host, url, pid, version, started_at, delivers, subscriptions, silent_ms } = node;
    const parts = [
      `${host}, process ${pid}: ${url}, started ${relativeTime(started_at)}`,
      delivers ? `delivers to ${counted(subscriptions, "subscription")}` : "delivers nothing",
      ...(version === own ? [] : [`parley ${version}`]),
      ...(silent_ms > quietMs ? [`silent for ${timeSpan(silent_ms)}`] : []),
    ];
    return [index === 0 ? "nodes" : "", parts.join(", ")] as const;
  });
}

function postgresLines({
  database,
  version,
  role,
  connections,
  standbys,
  behind_ms,
}: NonNullable<WorkspaceStatus["postgres"]>): Array<readonly [string, string]> {
  const behind = behind_ms === null ? "" : `, ${timeSpan(behind_ms)} behind its primary`;
  const texts = standbys.map(standbyText);
  return [
    ["database", `PostgreSQL ${version} at ${database}, a ${role}${behind}`],
    ["connections", `${connections.used} of ${connections.max}`],
    ...(role === "primary" && texts.length === 0 ? [["standbys", "none"] as const] : []),
    ...texts.map((text, index) => [index === 0 ? "standbys" : "", text] as const),
  ];
}

function standbyText({ name, state, sync_state, lag_bytes, lag_ms }: Standby): string {
  if (state === null) return "one, of which this login may see nothing: GRANT pg_monitor TO it";
  const lag = lag_bytes === null ? "" : `, ${byteSize(lag_bytes)} behind`;
  const time = lag_ms ? ` (${timeSpan(lag_ms)})` : "";
  return `${name}: ${state}, ${sync_state}${lag}${time}`;
}

function sizeText({ database_bytes, log_bytes }: WorkspaceStatus["size"]): string {
  return byteSize(database_bytes) + (log_bytes === null ? "" : `, write-ahead log ${byteSize(log_bytes)}`);
}

function holdLines({ hold }: WorkspaceStatus): Array<readonly [string, string]> {
  if (!hold) return [];
  const what = hold.kind === "older_copy" ? "an older copy" : "a copy from elsewhere";
  return [["deliveries", `held since ${relativeTime(hold.since)}: this is ${what}`]];
}

function backupText({ last, failed, schedule }: WorkspaceStatus["backup"]): string {
  const made = last ? `${relativeTime(last.at)}, ${byteSize(last.bytes ?? 0)}` : "never";
  const parts = [made, schedule ? `every ${timeSpan(schedule.every_ms)}` : "by hand only"];
  // The reason may be long: `parley backup` has it.
  if (failed) parts.push(`failed ${relativeTime(failed.at)} (parley backup)`);
  return parts.join("; ");
}

function queueText({ queue, hold }: WorkspaceStatus): string {
  const { jobs, next_due_at, events_to_queue } = queue;
  const parts = [jobs === 0 ? "empty" : backlogText(queue, "delivery", "deliveries")];
  // While deliveries are held, none is sent when it is due.
  if (next_due_at !== null && !hold) {
    const waitMs = Date.parse(next_due_at) - Date.now();
    parts.push(
      waitMs <= 0 ? `the first was due ${relativeTime(next_due_at)}` : `next in ${timeSpan(waitMs)}`,
    );
  }
  if (events_to_queue > 0) parts.push(`${counted(events_to_queue, "event")} still to be queued`);
  return parts.join("; ");
}

function backlogText({ jobs, is_more, oldest_at }: Backlog, noun: string, plural?: string): string {
  const count = is_more ? `more than ${counted(jobs, noun, plural)}` : counted(jobs, noun, plural);
  return oldest_at === null ? count : `${count}, the oldest from ${relativeTime(oldest_at)}`;
}

function subscriptionsText({ active, failing, disabled }: WorkspaceStatus["subscriptions"]): string {
  if (active + disabled.length === 0) return "none";
  return `${active} active (${failing.length} failing), ${disabled.length} disabled`;
}

function listed(
  troubled: readonly TroubledSubscription[],
  label: string,
  textOf: (each: TroubledSubscription) => string,
): Array<readonly [string, string]> {
  const others = troubled.length - namesShown;
  const texts = troubled.slice(0, namesShown).map(textOf);
  if (others > 0) texts.push(`and ${counted(others, "other")}`);
  return texts.map((text, index) => [index === 0 ? label : "", text] as const);
}

function titleOf({ name, team }: TroubledSubscription, hasSeveralTeams: boolean): string {
  return hasSeveralTeams ? `${name} (${team})` : name;
}
