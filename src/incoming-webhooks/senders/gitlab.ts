import { isSameSecret } from "../signature.ts";
import { commitLines, eventText, excerptOf, inWords, oneLine } from "./event-text.ts";
import { type Fields, objectIn, objectOf, objectsIn, textIn, textsIn } from "./fields.ts";
import type { Sender } from "./sender.ts";

/** Webhooks of GitLab's projects and groups, and its system hooks, with the webhook's secret as their token. */
export const gitlab: Sender = {
  suffix: "gitlab",
  name: "GitLab",
  messageOf: ({ payload, headers }) => ({
    text: gitlabEventText(objectOf(payload), headers.get("x-gitlab-event") ?? ""),
    username: null,
    iconUrl: null,
  }),
  isFrom: ({ headers }) => headers.has("x-gitlab-event"),
  proof: {
    isGiven: (headers, _rawBody, secret) => isSameSecret(headers.get("x-gitlab-token"), secret),
    headers: ["X-Gitlab-Token"],
    remedy: "Enter the webhook's signing secret as the Secret token of the webhook in GitLab.",
  },
  deliveryOf: (headers) => headers.get("x-gitlab-event-uuid"),
  setUp: (address, secret) => [
    "In GitLab: Settings → Webhooks → Add new webhook, with",
    "",
    `  URL:           ${address}`,
    `  Secret token:  ${secret ?? "(none)"}`,
  ],
};

/** What was done, by the action that GitLab names. */
const actions: Record<string, string> = {
  open: "opened",
  close: "closed",
  reopen: "reopened",
  update: "updated",
  merge: "merged",
  create: "created",
  delete: "deleted",
  approved: "approved",
  unapproved: "took back an approval of",
  approval: "approved",
  unapproval: "took back an approval of",
};

const texts: Record<string, (payload: Fields) => string> = {
  push,
  tag_push: push,
  issue: (payload) => item(payload, "issue", "#"),
  work_item: (payload) => item(payload, "work item", "#"),
  merge_request: (payload) => item(payload, "merge request", "!"),
  note,
  pipeline: (payload) => {
    const { id, status, ref, url } = textsIn(
      objectIn(payload, "object_attributes"),
      "id",
      "status",
      "ref",
      "url",
    );
    const link = url || `${textIn(objectIn(payload, "project"), "web_url")}/-/pipelines/${id}`;
    return eventText(placeOf(payload), `Pipeline #${id}: ${inWords(status)} on ${oneLine(ref)}`, [], link);
  },
  build: (payload) => {
    const {
      build_name: name,
      build_status: status,
      ref,
    } = textsIn(payload, "build_name", "build_status", "ref");
    return eventText(placeOf(payload), `Job ${oneLine(name)}: ${inWords(status)} on ${oneLine(ref)}`);
  },
  release: (payload) => {
    const { action, tag, name, url } = textsIn(payload, "action", "tag", "name", "url");
    const title = name === "" || name === tag ? tag : `${tag} (${name})`;
    return eventText(placeOf(payload), `Release ${oneLine(title)} ${doneBy(action)}`, [], url);
  },
  wiki_page: (payload) => {
    const { action, title, url } = textsIn(objectIn(payload, "object_attributes"), "action", "title", "url");
    return eventText(
      placeOf(payload),
      `${userOf(payload)} ${doneBy(action)} wiki page ${oneLine(title)}`,
      [],
      url,
    );
  },
  deployment: (payload) => {
    const {
      status,
      environment,
      deployable_url: url,
    } = textsIn(payload, "status", "environment", "deployable_url");
    return eventText(placeOf(payload), `Deployment to ${oneLine(environment)}: ${inWords(status)}`, [], url);
  },
};

function gitlabEventText(payload: Fields, header: string): string {
  // System hooks name it in another field.
  const kind = textIn(payload, "object_kind") || textIn(payload, "event_name");
  const text = Object.hasOwn(texts, kind) ? texts[kind] : undefined;
  if (text !== undefined) return text(payload);
  const event = kind || header;
  const action = textIn(objectIn(payload, "object_attributes"), "action");
  const who = userOf(payload);
  const happened = [inWords(event) || "event", inWords(action), who && `by ${who}`].filter(
    (part) => part !== "",
  );
  return eventText(placeOf(payload), happened.join(" "));
}

function push(payload: Fields): string {
  const { ref, before, after } = textsIn(payload, "ref", "before", "after");
  const [, kind, name] = /^refs\/(heads|tags)\/(.*)$/s.exec(ref) ?? [undefined, "heads", ref];
  const what = `${kind === "tags" ? "tag" : "branch"} ${oneLine(name ?? "")}`;
  const who = userOf(payload);
  if (/^0+$/.test(after)) return eventText(placeOf(payload), `${who} deleted ${what}`);
  const web = textIn(objectIn(payload, "project"), "web_url");
  const commits = objectsIn(payload, "commits").toReversed();
  const isNew = /^0+$/.test(before);
  if (commits.length === 0)
    return eventText(placeOf(payload), `${who} ${isNew ? "created" : "pushed to"} ${what}`, [], web);
  const listed = commits.map((each) => ({
    id: textIn(each, "id"),
    message: textIn(each, "message"),
    author: textIn(objectIn(each, "author"), "name"),
  }));
  const total = Math.max(commits.length, Number(textIn(payload, "total_commits_count")) || 0);
  const title = `${who} pushed ${total} ${total === 1 ? "commit" : "commits"} to ${isNew ? "new " : ""}${what}`;
  const link = isNew ? textIn(commits[0] ?? {}, "url") : `${web}/-/compare/${before}...${after}`;
  return eventText(placeOf(payload), title, commitLines(listed, total), link);
}

/** What somebody did to an issue or a merge request; `sign` stands before its number. */
function item(payload: Fields, noun: string, sign: string): string {
  const { action, iid, title, url } = textsIn(
    objectIn(payload, "object_attributes"),
    "action",
    "iid",
    "title",
    "url",
  );
  const happened = `${userOf(payload)} ${doneBy(action)} ${noun} ${sign}${iid}: ${oneLine(title)}`;
  return eventText(placeOf(payload), happened, [], url);
}

function note(payload: Fields): string {
  const {
    note: said,
    noteable_type: type,
    url,
  } = textsIn(objectIn(payload, "object_attributes"), "note", "noteable_type", "url");
  const on: Record<string, string> = {
    Issue: titled("issue #", objectIn(payload, "issue")),
    MergeRequest: titled("merge request !", objectIn(payload, "merge_request")),
    Snippet: `snippet ${oneLine(textIn(objectIn(payload, "snippet"), "title"))}`,
    Commit: `commit ${textIn(objectIn(payload, "commit"), "id").slice(0, 7)}`,
  };
  const what = (Object.hasOwn(on, type) ? on[type] : undefined) ?? inWords(type);
  return eventText(placeOf(payload), `${userOf(payload)} commented on ${what}`, [excerptOf(said)], url);
}

function titled(noun: string, fields: Fields): string {
  const { iid, title } = textsIn(fields, "iid", "title");
  return `${noun}${iid}: ${oneLine(title)}`;
}

function doneBy(action: string): string {
  return (Object.hasOwn(actions, action) ? actions[action] : undefined) ?? (inWords(action) || "changed");
}

function placeOf(payload: Fields): string {
  return (
    textIn(objectIn(payload, "project"), "path_with_namespace") ||
    textIn(payload, "project_name") ||
    textIn(payload, "path_with_namespace") ||
    textIn(objectIn(payload, "group"), "full_path") ||
    textIn(payload, "full_path")
  );
}

/** Who did it. */
function userOf(payload: Fields): string {
  return oneLine(
    textIn(payload, "user_name") ||
      textIn(objectIn(payload, "user"), "name") ||
      textIn(payload, "user_username"),
  );
}
