import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "..", "..");

/** Where the source writes a line to the log, up to the parenthesis of the call. */
const calls =
  /(?:\b\w*[lL]og(?:\.(?:trace|debug|info|infoText|warn|error|fatal)|\[\w+\])|#warn|\berror\.call)\(/g;

/** The name of an event as the source writes it. */
const eventName = /"([a-z_]+\.[a-z_]+)"/g;

/** The text from the opening parenthesis before `start` to the one that closes it. */
function argumentsAt(text: string, start: number): string {
  let depth = 1;
  let end = start;
  for (; end < text.length && depth > 0; end++) {
    if (text[end] === "(") depth++;
    else if (text[end] === ")") depth--;
  }
  return text.slice(start, end);
}

/** The events that the source logs. */
function loggedEvents(): string[] {
  const events = new Set<string>();
  for (const file of new Bun.Glob("{src,cli}/**/*.ts").scanSync({ cwd: root })) {
    const text = readFileSync(join(root, file), "utf8");
    for (const call of text.matchAll(calls)) {
      const given = argumentsAt(text, call.index + call[0].length);
      for (const [, name = ""] of given.matchAll(eventName)) events.add(name);
    }
    for (const [, name = ""] of text.matchAll(/\bmsg: "([a-z_]+\.[a-z_]+)"/g)) events.add(name);
  }
  return [...events].toSorted();
}

describe("the table of log events", () => {
  const text = readFileSync(join(root, "docs", "troubleshooting.md"), "utf8");
  const table = text.slice(text.indexOf("| event | what it means |"));
  const rows = [...table.matchAll(/^\| `([a-z_.]+)` \| (.*) \| (.*) \|$/gm)];

  test("lists every event that the server logs and no other, in order", () => {
    const logged = loggedEvents();
    expect(logged).toContain("delivery.attempted");
    expect(rows.map(([, name]) => name)).toEqual(logged);
  });

  test("says of each what it means and what to do, in sentences", () => {
    for (const [row, , meaning = "", remedy = ""] of rows) {
      for (const cell of [meaning, remedy]) expect(cell, row).toMatch(/^[A-Z`].*\.$/);
    }
  });
});
