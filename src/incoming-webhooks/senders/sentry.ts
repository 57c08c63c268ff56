import { cannotSign } from "./cannot-sign.ts";
import { eventText, excerptOf, inWords, oneLine } from "./event-text.ts";
import { type Fields, objectIn, objectOf, textIn, textsIn } from "./fields.ts";
import type { Sender } from "./sender.ts";

/**
 * Webhooks of Sentry's integrations, and its older plugin of that name. Sentry signs with a secret that it makes itself
 * and that a webhook here does not have, so its posts are proven by the address alone.
 */
export const sentry: Sender = {
  suffix: "sentry",
  name: "Sentry",
  messageOf: ({ payload, headers }) => ({
    text: sentryText(objectOf(payload), headers.get("sentry-hook-resource") ?? ""),
    username: null,
    iconUrl: null,
  }),
  isFrom: ({ headers }) => headers.has("sentry-hook-resource"),
  deliveryOf: (headers) => headers.get("request-id"),
  setUp: (address, secret) => [
    "In Sentry: Settings → Custom Integrations → Create New Integration → Internal, with",
    "",
    `  Webhook URL:        ${address}`,
    "  Alert Rule Action:  on",
    "",
    "then choose the integration as an action of your alerts.",
    ...cannotSign(secret),
  ],
};

const texts: Record<string, (data: Fields, payload: Fields) => string> = {
  event_alert: (data) => {
    const event = objectIn(data, "event");
    const { triggered_rule: rule } = textsIn(data, "triggered_rule");
    return problemText("Alert", event, textIn(event, "web_url"), rule);
  },
  metric_alert: (data, payload) => {
    const {
      description_title: title,
      description_text: text,
      web_url: link,
    } = textsIn(data, "description_title", "description_text", "web_url");
    const alert = objectIn(data, "metric_alert");
    const name = title || `${inWords(textIn(payload, "action"))}: ${textIn(alert, "title")}`;
    return eventText("Sentry", oneLine(name), [excerptOf(text.replaceAll("\\n", ", "))], link);
  },
  issue: (data, payload) => {
    const issue = objectIn(data, "issue");
    const done = inWords(textIn(payload, "action")) || "changed";
    const actor = objectIn(payload, "actor");
    const by = textIn(actor, "type") === "user" ? ` by ${oneLine(textIn(actor, "name"))}` : "";
    const link = textIn(issue, "web_url") || textIn(issue, "permalink");
    return problemText(`Issue ${done}${by}`, issue, link);
  },
  error: (data) => {
    const error = objectIn(data, "error");
    return problemText("Error", error, textIn(error, "web_url"));
  },
  comment: (data, payload) => {
    const {
      comment,
      issue_id: issue,
      project_slug: project,
    } = textsIn(data, "comment", "issue_id", "project_slug");
    const who = oneLine(textIn(objectIn(payload, "actor"), "name")) || "Somebody";
    const action = textIn(payload, "action");
    const done = action === "created" || action === "" ? "commented on" : `${inWords(action)} a comment on`;
    return eventText(`Sentry ${project}`.trim(), `${who} ${done} issue ${oneLine(issue)}`, [
      excerptOf(comment),
    ]);
  },
};

function sentryText(payload: Fields, resource: string): string {
  const text = Object.hasOwn(texts, resource) ? texts[resource] : undefined;
  if (text) return text(objectIn(payload, "data"), payload);
  // The plugin of before integrations names no resource.
  if (resource === "" && textIn(payload, "message") + textIn(payload, "culprit") !== "") {
    const event = objectIn(payload, "event");
    const title = textIn(event, "title") || textIn(payload, "message");
    const problem = { ...payload, title, project: { slug: textIn(payload, "project") } };
    return problemText("Alert", problem, textIn(payload, "url"));
  }
  const happened = [inWords(resource) || "event", inWords(textIn(payload, "action"))]
    .filter(Boolean)
    .join(" ");
  return eventText("Sentry", happened);
}

/** An error or an issue: what it is, how bad, where, and by which rule it was told. */
function problemText(what: string, problem: Fields, link: string, rule = ""): string {
  const { title, level, culprit, shortId } = textsIn(problem, "title", "level", "culprit", "shortId");
  const project = textIn(objectIn(problem, "project"), "slug");
  const name = excerptOf(title || textIn(problem, "message")) || "without a title";
  const facts = [level && oneLine(level), shortId && oneLine(shortId), culprit && `in ${oneLine(culprit)}`];
  return eventText(
    `Sentry ${project}`.trim(),
    `${what}: ${name}`,
    [facts.filter(Boolean).join(", "), rule && `Rule: ${oneLine(rule)}`],
    link,
  );
}
