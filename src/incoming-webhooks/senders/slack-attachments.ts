import { type Fields, objectsIn, textIn } from "./fields.ts";
import { linkText, plainOf } from "./mrkdwn.ts";
import { linesOfBlocks } from "./slack-blocks.ts";

/** Returns the lines of an attachment; its fallback only where it has nothing else. What `before` says is left out. */
export function linesOfAttachment(attachment: Fields, before: string): string[] {
  const blocks = linesOfBlocks(objectsIn(attachment, "blocks"));
  if (blocks.length > 0) return blocks;
  const said = new Set(["", before]);
  const say = (text: string): string[] => {
    const line = plainOf(text).trim();
    if (said.has(line)) return [];
    said.add(line);
    return [line];
  };
  const lines = ["pretext", "author_name", "title", "text"].flatMap((name) => say(textIn(attachment, name)));
  lines.push(...objectsIn(attachment, "fields").map(fieldLine).filter(Boolean));
  const links = ["title_link", "image_url", "thumb_url"].map((name) => textIn(attachment, name));
  lines.push(...objectsIn(attachment, "actions").map(action).filter(Boolean));
  // Found once for all links: to search the text for each would take the square of its length.
  const shown = lines.join("\n").match(/https?:\/\/\S+/g) ?? [];
  const isShown = (url: string): boolean =>
    shown.some((found) => found.startsWith(url) && /^[).,:;!?'"\]]*$/.test(found.slice(url.length)));
  lines.push(...links.filter((url) => !isShown(url)).flatMap(say));
  lines.push(...say(textIn(attachment, "footer")));
  return lines.length > 0 ? lines : say(textIn(attachment, "fallback"));
}

function fieldLine(field: Fields): string {
  const title = plainOf(textIn(field, "title")).trim();
  const value = plainOf(textIn(field, "value")).trim();
  return title === "" || value === "" ? title + value : `${title}: ${value}`;
}

/** A button is of use to a reader of text only where it leads somewhere. */
function action(fields: Fields): string {
  const url = textIn(fields, "url");
  return url === "" ? "" : linkText(plainOf(textIn(fields, "text")), url);
}
