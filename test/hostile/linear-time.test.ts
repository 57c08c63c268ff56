import { expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import { shortcodeName } from "../../src/emoji/emoji.ts";
import { parseJson } from "../../src/input/json.ts";
import { messageIn } from "../../src/incoming-webhooks/senders/read-post.ts";
import { slack } from "../../src/incoming-webhooks/senders/slack.ts";
import { routeTable } from "../../src/http/route-table.ts";
import { isNameable, isStorable, isUuid, trim } from "../../src/input/text.ts";
import { isSecretText } from "../../src/secrets/secret-text.ts";
import { checkOf, Text } from "../../src/input/validation.ts";

const small = 16 * 1024;
/** The long text is 1 MiB, as much as a body can hold. */
const times = 64;

/** Work in proportion to the square of the length takes 4,096 times as long; what is far below that leaves room for noise. */
const ratioMax = 8 * times;
/** Less cannot be told from what else the machine does. */
const least_ms = 0.1;

const checkMessage = checkOf(
  Type.Object({ body: Text({ maxLength: 8_000, minLength: 1, isTrimmed: true }) }),
);
const checkName = checkOf(Type.Object({ name: Text({ maxLength: 255, minLength: 1, isName: true }) }));
const findRoute = routeTable([
  { method: "GET", path: "/api/v1/channels/:channel" },
  { method: "PUT", path: "/api/v1/channels/:channel/messages/:message/reactions/:emoji" },
]);

/** What the text holds nowhere, although most of it fits at every place of a text that repeats itself. */
function nearlyIn(text: string): string {
  const half = text.slice(0, text.length / 8);
  return `${half}\u0001${half}`;
}

/** The shortest of some runs, in milliseconds: what the work takes when nothing else is in the way. */
function shortest(run: () => unknown): number {
  let best = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < 7; attempt++) {
    const startedAt = performance.now();
    try {
      run();
    } catch {
      // A refusal takes time too.
    }
    best = Math.min(best, performance.now() - startedAt);
  }
  return best;
}

const works: Record<string, (text: string) => unknown> = {
  trimming: trim,
  "looking for what cannot be stored": isStorable,
  "looking for what cannot be in a name": isNameable,
  "checking a message": (text) => checkMessage({ body: text }),
  "checking a name": (text) => checkName({ name: text }),
  "telling a shortcode": (text) => shortcodeName(`:${text}:`),
  "telling a uuid": isUuid,
  "telling a token": (text) => isSecretText(`ply_pat_${text}`),
  "finding a route": (text) => findRoute(`/api/v1/channels/${text}`),
  "reading JSON": (text) => parseJson(Buffer.from(text)),
  "flattening a post for Slack": (text) => messageIn(slack, { text, attachments: [{ text }] }, new Headers()),
  "looking for a link in an attachment for Slack": (text) =>
    messageIn(slack, { attachments: [{ text, title_link: nearlyIn(text) }] }, new Headers()),
  "reading a text in JSON": (text) => parseJson(Buffer.from(JSON.stringify({ body: text }))),
};

const patterns = {
  letters: "a",
  "white space": " \u2003",
  "white space between letters": "a  ",
  marks: "\u0301",
  "marks of two kinds": "\u0301\u0327",
  brackets: "[",
  objects: '{"a":',
  keys: '"a":1,',
  "links of Slack that do not end": "<a|",
  "entities and links of Slack": "&lt;<https://a|b> ",
  backslashes: "\\",
  quotes: '"',
  "emoji and joiners": "❤\u200D",
  flags: "🇩🇪",
  "variation selectors": "\uFE0F",
  hyphens: "-",
  slashes: "/",
  "percent signs": "%41",
  "broken percent signs": "%",
  "halves of surrogate pairs": "\uD83D",
  "ligatures that grow": "\uFDFA",
};

test.each(Object.entries(works))("%s takes time in proportion to the length of the text", (_what, work) => {
  for (const [pattern, unit] of Object.entries(patterns)) {
    const text = unit.repeat(small / unit.length);
    const short = shortest(() => work(text));
    const long = shortest(() => work(text.repeat(times)));
    expect(long / Math.max(short, least_ms), `${pattern}: ${short} ms, then ${long} ms`).toBeLessThan(
      ratioMax,
    );
  }
});
