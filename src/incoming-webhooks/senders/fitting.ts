import { bodyLengthMax } from "../../messages/schemas.ts";
import { isNameable, isWithin, trim } from "../../input/text.ts";
import { invalid } from "../../errors.ts";
import type { IncomingPayload } from "../payload.ts";
import { iconUrlLengthMax, usernameLengthMax } from "../schemas.ts";

/**
 * Makes a message fit for storing: text that is too long is cut, with an ellipsis; NUL and halves of surrogate pairs
 * become U+FFFD; a username is cut and put on one line, and an icon that is no URL of the web is left out. A sender
 * cannot repair what it is refused for.
 * @throws DomainError `invalid` on `text` when nothing is left to post.
 */
export function fitting({ text, username, iconUrl }: IncomingPayload): IncomingPayload {
  const body = trim(storable(text));
  if (body === "") throw invalid({ text: ["The post has no text."] });
  return {
    text: cut(body, bodyLengthMax),
    username: username === null ? null : nameOf(username),
    iconUrl: iconUrl !== null && isIcon(iconUrl) ? iconUrl : null,
  };
}

function storable(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\uFFFD");
}

function cut(text: string, limit: number): string {
  if (isWithin(text, limit)) return text;
  let end = 0;
  let count = 0;
  for (const character of text) {
    if (++count === limit) break;
    end += character.length;
  }
  return `${text.slice(0, end)}…`;
}

function nameOf(username: string): string | null {
  const name = trim(storable(username).replace(/\s+/g, " "));
  return name === "" || !isNameable(name) ? null : cut(name, usernameLengthMax);
}

function isIcon(url: string): boolean {
  return (
    /^https?:\/\//i.test(url) && isWithin(url, iconUrlLengthMax) && isNameable(url) && url.isWellFormed()
  );
}
