import { commitLines, eventText, excerptOf, inWords, oneLine } from "./event-text.ts";
import { type Fields, objectIn, objectsIn, textIn, textsIn } from "./fields.ts";

/** What has become of a run that has ended, in words. */
const outcomes: Record<string, string> = {
  success: "succeeded",
  failure: "failed",
  cancelled: "was cancelled",
  timed_out: "timed out",
  skipped: "was skipped",
  action_required: "needs somebody",
};

/** The events that have a text of their own, by their names. */
const texts: Record<string, (payload: Fields) => string> = {
  ping: (payload) => eventText(placeOf(payload), "The webhook is set up.", [oneLine(textIn(payload, "zen"))]),
  push,
  create: (payload) => created(payload, "created"),
  delete: (payload) => created(payload, "deleted"),
  pull_request: pullRequest,
  pull_request_review: review,
  pull_request_review_comment: (payload) => comment(payload, "pull request", "pull_request"),
  issues: (payload) => onItem(payload, "issue", "issue"),
  issue_comment: (payload) =>
    comment(
      payload,
      Object.keys(objectIn(objectIn(payload, "issue"), "pull_request")).length > 0 || payload.is_pull === true
        ? "pull request"
        : "issue",
      "issue",
    ),
  commit_comment: (payload) => {
    const {
      body,
      commit_id: id,
      html_url: link,
    } = textsIn(objectIn(payload, "comment"), "body", "commit_id", "html_url");
    return eventText(
      placeOf(payload),
      `${senderOf(payload)} commented on ${id.slice(0, 7)}`,
      [excerptOf(body)],
      link,
    );
  },
  release,
  gollum: (payload) => {
    const pages = objectsIn(payload, "pages").map((page) => oneLine(textIn(page, "title")));
    const [first] = objectsIn(payload, "pages");
    const edited = `${senderOf(payload)} edited the wiki: ${pages.slice(0, 5).join(", ")}`;
    return eventText(placeOf(payload), edited, [], textIn(first ?? {}, "html_url"));
  },
  deployment_status: (payload) => {
    const status = objectIn(payload, "deployment_status");
    const { environment, state, target_url: link } = textsIn(status, "environment", "state", "target_url");
    return eventText(placeOf(payload), `Deployment to ${oneLine(environment)}: ${inWords(state)}`, [], link);
  },
  workflow_run: (payload) => {
    const run = objectIn(payload, "workflow_run");
    return runText(payload, run, `Workflow ${named(run)}`, textIn(run, "head_branch"));
  },
  workflow_job: (payload) => {
    const job = objectIn(payload, "workflow_job");
    return runText(payload, job, `Job ${named(job)}`, textIn(job, "head_branch"));
  },
  check_run: (payload) => {
    const run = objectIn(payload, "check_run");
    return runText(payload, run, `Check ${named(run)}`, textIn(objectIn(run, "check_suite"), "head_branch"));
  },
  check_suite: (payload) => {
    const suite = objectIn(payload, "check_suite");
    return runText(
      payload,
      suite,
      `Checks of ${named(objectIn(suite, "app"))}`,
      textIn(suite, "head_branch"),
    );
  },
  status: (payload) => {
    const {
      context,
      state,
      sha,
      description,
      target_url: link,
    } = textsIn(payload, "context", "state", "sha", "description", "target_url");
    const title = `${oneLine(context)}: ${inWords(state)} for ${sha.slice(0, 7)}`;
    return eventText(placeOf(payload), title, [excerptOf(description)], link);
  },
  fork: (payload) => {
    const { full_name: name, html_url: link } = textsIn(objectIn(payload, "forkee"), "full_name", "html_url");
    return eventText(placeOf(payload), `${senderOf(payload)} forked it to ${oneLine(name)}`, [], link);
  },
};

/**
 * Returns an event of GitHub as text, or of Gitea, whose events are nearly the same. An event that is not known becomes a
 * line with its name, its action and who did it.
 */
export function forgeEventText(event: string, payload: Fields): string {
  const text = Object.hasOwn(texts, event) ? texts[event] : undefined;
  return text === undefined ? otherText(event, payload) : text(payload);
}

function otherText(event: string, payload: Fields): string {
  const action = textIn(payload, "action");
  const happened = [inWords(event) || "event", inWords(action), by(payload)].filter((part) => part !== "");
  return eventText(placeOf(payload), happened.join(" "), [], textIn(objectIn(payload, event), "html_url"));
}

function push(payload: Fields): string {
  const { ref } = textsIn(payload, "ref");
  const [, kind, name] = /^refs\/(heads|tags)\/(.*)$/s.exec(ref) ?? [undefined, "", ref];
  const where = kind === "tags" ? `tag ${oneLine(name ?? "")}` : oneLine(name ?? "");
  const noun = kind === "tags" ? "" : "branch ";
  const who = senderOf(payload) || oneLine(textIn(objectIn(payload, "pusher"), "name"));
  const compared = textIn(payload, "compare") || textIn(payload, "compare_url");
  // Gitea compares a new branch with nothing.
  const link = /0{40}/.test(compared) ? "" : compared;
  const isNone = (sha: string) => /^0+$/.test(sha);
  if (payload.deleted === true || isNone(textIn(payload, "after")))
    return eventText(placeOf(payload), `${who} deleted ${noun}${where}`);
  const commits = objectsIn(payload, "commits");
  const isNew = payload.created === true || isNone(textIn(payload, "before"));
  if (commits.length === 0)
    return eventText(
      placeOf(payload),
      `${who} ${isNew ? `created ${noun}` : "pushed to "}${where}`,
      [],
      link,
    );
  const listed = commits.map((each) => ({
    id: textIn(each, "id"),
    message: textIn(each, "message"),
    author: textIn(objectIn(each, "author"), "name"),
  }));
  const total = Math.max(commits.length, Number(textIn(payload, "total_commits")) || 0);
  const pushed = payload.forced === true ? "force-pushed" : "pushed";
  const title = `${who} ${pushed} ${total} ${total === 1 ? "commit" : "commits"} to ${isNew ? "new " : ""}${isNew ? noun : ""}${where}`;
  return eventText(placeOf(payload), title, commitLines(listed, total), link);
}

function created(payload: Fields, done: string): string {
  const { ref_type: type, ref } = textsIn(payload, "ref_type", "ref");
  return eventText(placeOf(payload), `${senderOf(payload)} ${done} ${inWords(type)} ${oneLine(ref)}`);
}

function pullRequest(payload: Fields): string {
  const pull = objectIn(payload, "pull_request");
  // Gitea's reviews come under this name too.
  if (Object.keys(objectIn(payload, "review")).length > 0) return review(payload);
  const { action } = textsIn(payload, "action");
  const { ref: into } = textsIn(objectIn(pull, "base"), "ref");
  const { ref: from } = textsIn(objectIn(pull, "head"), "ref");
  const branches = into === "" || from === "" ? "" : oneLine(`${from} → ${into}`);
  if (action === "closed" && pull.merged === true)
    return onItem(payload, "pull request", "pull_request", "merged");
  if (action === "synchronize" || action === "synchronized")
    return onItem(payload, "pull request", "pull_request", "pushed to");
  return onItem(payload, "pull request", "pull_request", undefined, action === "opened" ? [branches] : []);
}

function review(payload: Fields): string {
  const given = objectIn(payload, "review");
  const state =
    textIn(given, "state").toLowerCase() || textIn(given, "type").replace("pull_request_review_", "");
  const done: Record<string, string> = {
    approved: "approved",
    changes_requested: "asked for changes in",
    rejected: "asked for changes in",
    dismissed: "dismissed a review of",
  };
  const verb =
    textIn(payload, "action") === "dismissed"
      ? done.dismissed
      : Object.hasOwn(done, state)
        ? done[state]
        : "reviewed";
  const said = excerptOf(textIn(given, "body") || textIn(given, "content"));
  return onItem(payload, "pull request", "pull_request", verb, [said], textIn(given, "html_url"));
}

function comment(payload: Fields, noun: string, key: string): string {
  const written = objectIn(payload, "comment");
  const { action } = textsIn(payload, "action");
  const verb = action === "" || action === "created" ? "commented on" : `${inWords(action)} a comment on`;
  const said = action === "deleted" ? "" : excerptOf(textIn(written, "body"));
  return onItem(payload, noun, key, verb, [said], textIn(written, "html_url"));
}

function release(payload: Fields): string {
  const {
    tag_name: tag,
    name,
    html_url: link,
  } = textsIn(objectIn(payload, "release"), "tag_name", "name", "html_url");
  const title = name === "" || name === tag ? tag : `${tag} (${name})`;
  const verb = inWords(textIn(payload, "action")) || "published";
  return eventText(placeOf(payload), `${senderOf(payload)} ${verb} release ${oneLine(title)}`, [], link);
}

/** What somebody did to an issue or a pull request. */
function onItem(
  payload: Fields,
  noun: string,
  key: string,
  verb = inWords(textIn(payload, "action")) || "changed",
  lines: readonly string[] = [],
  link = "",
): string {
  const item = objectIn(payload, key);
  const { number, title, html_url: own } = textsIn(item, "number", "title", "html_url");
  const happened = `${senderOf(payload)} ${verb} ${noun} #${number || textIn(payload, "number")}: ${oneLine(title)}`;
  return eventText(placeOf(payload), happened, lines, link || own);
}

function runText(payload: Fields, run: Fields, what: string, branch: string): string {
  const { conclusion, status, html_url: link } = textsIn(run, "conclusion", "status", "html_url");
  const ended = Object.hasOwn(outcomes, conclusion) ? outcomes[conclusion] : undefined;
  const state = ended ?? `is ${inWords(conclusion || status || textIn(payload, "action")) || "there"}`;
  const on = branch === "" ? "" : ` on ${oneLine(branch)}`;
  return eventText(placeOf(payload), `${what} ${state}${on}`, [], link);
}

function named(run: Fields): string {
  const { name, run_number: number } = textsIn(run, "name", "run_number");
  return oneLine(number === "" ? name : `${name} #${number}`);
}

/** The repository, or else the organization, that the event is of. */
function placeOf(payload: Fields): string {
  return (
    textIn(objectIn(payload, "repository"), "full_name") || textIn(objectIn(payload, "organization"), "login")
  );
}

function senderOf(payload: Fields): string {
  const sender = objectIn(payload, "sender");
  return oneLine(textIn(sender, "login") || textIn(sender, "username"));
}

function by(payload: Fields): string {
  const who = senderOf(payload);
  return who === "" ? "" : `by ${who}`;
}
