import { trim } from "../../input/text.ts";

/** How many characters of a title and of a comment are shown, and how many commits. */
const titleMax = 200;
const excerptMax = 300;
const commitsMax = 5;

/** A commit as a push shows it. */
export type Commit = { id: string; message: string; author: string };

/** Returns the text on one line without control characters, cut after so many characters. */
export function oneLine(text: string, max = titleMax): string {
  // What is cut off need not be looked at.
  const line = trim(text.slice(0, max * 2).replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " "));
  return line.length <= max ? line : `${line.slice(0, max - 1).toWellFormed()}…`;
}

/** Returns the start of what somebody wrote, on one line. */
export function excerptOf(text: string): string {
  return oneLine(text, excerptMax);
}

/** Returns the text without the white space around it, cut after so many UTF-16 units. It may have several lines. */
export function clipped(text: string, max: number): string {
  const start = trim(text.slice(0, max * 2));
  return start.length <= max && text.length <= max * 2 ? start : `${start.slice(0, max - 1).toWellFormed()}…`;
}

/** Returns an event as text: what happened in `place`, then the lines that are not empty, then the link. */
export function eventText(place: string, happened: string, lines: readonly string[] = [], link = ""): string {
  const title = place === "" ? happened : `[${oneLine(place)}] ${happened}`;
  const all = [oneLine(title, titleMax * 2), ...lines, /^https?:\/\/\S{1,2000}$/.test(link) ? link : ""];
  return all.filter((line) => line !== "").join("\n");
}

/** Returns a line for each of the first commits, and one for the rest. `total` may be more than are listed. */
export function commitLines(commits: readonly Commit[], total: number): string[] {
  const shown = commits.slice(0, commitsMax).map(({ id, message, author }) => {
    const line = `${id.slice(0, 7)} ${message.split("\n", 1)[0]}`;
    return oneLine(author === "" ? line : `${line} (${author})`);
  });
  return total > shown.length && shown.length > 0 ? [...shown, `and ${total - shown.length} more`] : shown;
}

/** Returns the name of an event or an action in words: `pull_request_review` is `pull request review`. */
export function inWords(name: string): string {
  return oneLine(name.replaceAll(/[_.:-]+/g, " "));
}
