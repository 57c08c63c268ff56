import { linesOfAlerts, titleOfAlerts } from "./alerts.ts";
import { bearer } from "./bearer.ts";
import { clipped, excerptOf } from "./event-text.ts";
import { type Fields, isObject, objectOf, objectsIn, textIn } from "./fields.ts";
import type { Sender } from "./sender.ts";

/** How much of a message of the sender's own is shown, in UTF-16 units. */
const messageMax = 4000;

/** Grafana's contact point "Webhook", and the notification channel of that name before Grafana 9. */
export const grafana: Sender = {
  suffix: "grafana",
  name: "Grafana",
  messageOf: ({ payload }) => {
    const fields = objectOf(payload);
    const lines = Array.isArray(fields.alerts) ? linesOfGroup(fields) : linesOfLegacy(fields);
    return { text: lines.filter(Boolean).join("\n"), username: null, iconUrl: null };
  },
  isFrom: ({ payload }) =>
    isObject(payload) && ((Array.isArray(payload.alerts) && "orgId" in payload) || "ruleName" in payload),
  proof: bearer,
  setUp: (address, secret) => [
    "In Grafana under Alerting, Contact points, add one of the type Webhook, without a custom payload:",
    "",
    `  URL: ${address}`,
    "  HTTP Method: POST",
    ...(secret === null ? [] : [`  Authorization Header Credentials: ${secret}`]),
  ],
};

/** The title is the contact point's template, and so is a message that is not the default one. */
function linesOfGroup(group: Fields): string[] {
  const title = excerptOf(textIn(group, "title")) || titleOfAlerts(group);
  const message = textIn(group, "message");
  const isDefault = message.trim() === "" || /^\s*\*\*(?:Firing|Resolved)\*\*\s/.test(message.slice(0, 100));
  if (!isDefault) return [title, clipped(message, messageMax)];
  const [only, ...others] = objectsIn(group, "alerts");
  const summary = only && others.length === 0 ? summaryOf(only) : "";
  return [title, summary, ...linesOfAlerts(group)];
}

function summaryOf({ annotations }: Fields): string {
  return isObject(annotations) ? excerptOf(textIn(annotations, "summary")) : "";
}

function linesOfLegacy(fields: Fields): string[] {
  const rule = excerptOf(textIn(fields, "ruleName"));
  const state = excerptOf(textIn(fields, "state")).toUpperCase();
  const title = excerptOf(textIn(fields, "title")) || [state && `[${state}]`, rule].filter(Boolean).join(" ");
  const values = objectsIn(fields, "evalMatches")
    .slice(0, 10)
    .map((match) => excerptOf(`- ${textIn(match, "metric")}: ${textIn(match, "value")}`));
  return [
    title || "Grafana sent a notification",
    clipped(textIn(fields, "message"), messageMax),
    ...values,
    clipped(textIn(fields, "ruleUrl"), 1000),
    clipped(textIn(fields, "imageUrl"), 1000),
  ];
}
