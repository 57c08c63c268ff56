import { clipped, excerptOf } from "./event-text.ts";
import { type Fields, objectIn, objectsIn, textIn } from "./fields.ts";

/** How many alerts of a group a message shows, and how many labels or values of one. */
const alertsMax = 10;
const labelsMax = 12;

/** How long a description may get, in UTF-16 units. */
const descriptionMax = 1000;

/** Links that lead on from an alert, with the words before them, the best one to follow first. */
const links = [
  ["panelURL", "Panel"],
  ["dashboardURL", "Dashboard"],
  ["generatorURL", "Source"],
  ["silenceURL", "Silence"],
] as const;

/** Links that people put into the annotations of a rule. */
const annotatedLinks = [
  ["runbook_url", "Runbook"],
  ["dashboard_url", "Dashboard"],
] as const;

/** The title of a group of alerts as Alertmanager and Grafana post it: `[FIRING:2, RESOLVED:1] Disk: filling up`. */
export function titleOfAlerts(group: Fields): string {
  const alerts = objectsIn(group, "alerts");
  const resolved = alerts.filter(isResolved).length;
  const firing = alerts.length - resolved;
  const counts = [firing > 0 ? `FIRING:${firing}` : "", resolved > 0 ? `RESOLVED:${resolved}` : ""];
  const shared = objectIn(group, "commonLabels");
  const name =
    textIn(shared, "alertname") ||
    labelsOf(objectIn(group, "groupLabels")) ||
    textIn(group, "receiver") ||
    "Alerts";
  const summary = excerptOf(textIn(commonAnnotations(group), "summary"));
  const state = counts.filter(Boolean).join(", ") || textIn(group, "status").toUpperCase();
  return excerptOf(`${state && `[${state}] `}${name}${summary && `: ${summary}`}`);
}

/**
 * Returns the lines under the title of a group of alerts: one alert with all that it has, several with a line each, those
 * that fire first. What all have in common is said once.
 */
export function linesOfAlerts(group: Fields): string[] {
  const alerts = objectsIn(group, "alerts");
  const [only, ...others] = alerts;
  if (only === undefined) return [];
  const more = Math.max(alerts.length - alertsMax, 0) + countIn(group, "truncatedAlerts");
  const andMore = more > 0 ? [`and ${more} more`] : [];
  if (others.length === 0) return linesOfAlert(only, andMore);
  const shared = objectIn(group, "commonLabels");
  const annotations = commonAnnotations(group);
  const sorted = [...alerts.filter((each) => !isResolved(each)), ...alerts.filter(isResolved)];
  const isMixed = alerts.some(isResolved) && !alerts.every(isResolved);
  const common = links.filter(([name]) => alerts.every((each) => textIn(each, name) === textIn(only, name)));
  const rest = links.filter((link) => !common.includes(link));
  return [
    clipped(textIn(annotations, "description"), descriptionMax),
    labelsOf(shared),
    ...sorted.slice(0, alertsMax).flatMap((each) => shortLines(each, shared, annotations, isMixed, rest)),
    ...andMore,
    ...linkLines(annotations, annotatedLinks),
    ...linkLines(only, common),
  ].filter((line) => line !== "");
}

function linesOfAlert(alert: Fields, andMore: string[]): string[] {
  const annotations = objectIn(alert, "annotations");
  return [
    clipped(textIn(annotations, "description") || textIn(annotations, "message"), descriptionMax),
    labelsOf(objectIn(alert, "labels")),
    valuesOf(alert),
    ...andMore,
    ...linkLines(annotations, annotatedLinks),
    ...linkLines(alert, links),
  ].filter((line) => line !== "");
}

function shortLines(
  alert: Fields,
  shared: Fields,
  common: Fields,
  isMixed: boolean,
  own: ReadonlyArray<(typeof links)[number]>,
): string[] {
  const labels = objectIn(alert, "labels");
  const annotations = objectIn(alert, "annotations");
  const name = textIn(labels, "alertname");
  const isNamed = name !== "" && name !== textIn(shared, "alertname");
  const words = ["summary", "description", "message"]
    .filter((key) => textIn(annotations, key) !== textIn(common, key))
    .map((key) => excerptOf(textIn(annotations, key)));
  const parts = [
    [isMixed && isResolved(alert) ? "resolved:" : "", isNamed ? name : "", labelsOf(labels, shared)],
    [words.find((text) => text !== "") ?? "", valuesOf(alert)],
  ].map((part) => part.filter(Boolean).join(" "));
  const link = own.map(([key]) => urlIn(alert, key)).find((url) => url !== "") ?? "";
  return [excerptOf(`- ${parts.filter(Boolean).join(" – ")}`), link && `  ${link}`];
}

function isResolved(alert: Fields): boolean {
  return alert.status === "resolved";
}

/** A group of one has what its alert has, wherever the sender leaves out what a group has in common. */
function commonAnnotations(group: Fields): Fields {
  const [only, ...others] = objectsIn(group, "alerts");
  return only && others.length === 0 ? objectIn(only, "annotations") : objectIn(group, "commonAnnotations");
}

/** `instance=db1, severity=page`, without the alert's name and what `known` says already. */
function labelsOf(labels: Fields, known: Fields = {}): string {
  const shown = Object.keys(labels)
    .filter((name) => name !== "alertname" && !name.startsWith("__"))
    .filter((name) => textIn(labels, name) !== "" && textIn(labels, name) !== textIn(known, name))
    .slice(0, labelsMax)
    .map((name) => `${name}=${textIn(labels, name)}`);
  return excerptOf(shown.join(", "));
}

/** Grafana's values of the rule's queries: `(B=44.2394, C=1)`. */
function valuesOf(alert: Fields): string {
  const values = objectIn(alert, "values");
  const shown = Object.keys(values)
    .slice(0, labelsMax)
    .flatMap((name) => {
      const value = values[name];
      return typeof value === "number" ? [`${name}=${Number(value.toPrecision(6))}`] : [];
    });
  return shown.length === 0 ? "" : excerptOf(`(${shown.join(", ")})`);
}

function linkLines(fields: Fields, names: ReadonlyArray<readonly [string, string]>): string[] {
  return names.flatMap(([name, word]) => {
    const url = urlIn(fields, name);
    return url === "" ? [] : [`${word}: ${url}`];
  });
}

/** A URL of the web; one too long to be shown whole would be of no use. */
function urlIn(fields: Fields, name: string): string {
  const url = textIn(fields, name).trim();
  return url.length <= descriptionMax && /^https?:\/\/\S+$/i.test(url) ? url : "";
}

function countIn(fields: Fields, name: string): number {
  const value = fields[name];
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : 0;
}
