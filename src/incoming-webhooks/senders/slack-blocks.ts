import { type Fields, objectIn, objectsIn, textIn } from "./fields.ts";
import { linkText, plainOf, unescaped } from "./mrkdwn.ts";
import { richText } from "./slack-rich-text.ts";

/** Returns the lines of Slack's blocks, an empty one for each divider. A block that is not known shows its text. */
export function linesOfBlocks(blocks: Fields[]): string[] {
  return blocks.flatMap(linesOf);
}

function linesOf(block: Fields): string[] {
  switch (block.type) {
    case "divider":
      return [""];
    case "section":
      return [
        textOf(block, "text"),
        ...objectsIn(block, "fields").map(textObject),
        ...accessory(block),
      ].filter(Boolean);
    case "context":
    case "context_actions":
      return [objectsIn(block, "elements").map(elementText).filter(Boolean).join(" ")].filter(Boolean);
    case "actions":
      return objectsIn(block, "elements").map(elementText).filter(Boolean);
    case "image":
      return [image(block)].filter(Boolean);
    case "rich_text":
      return [richText(block)].filter(Boolean);
    case "markdown":
      return [textIn(block, "text")].filter(Boolean);
    case "table":
      return rows(block);
    case "video":
      return [
        linkText(textOf(block, "title"), textIn(block, "title_url") || textIn(block, "video_url")),
        textOf(block, "description"),
      ].filter(Boolean);
    default:
      return [textOf(block, "title"), textOf(block, "label"), textOf(block, "text")].filter(Boolean);
  }
}

function accessory(block: Fields): string[] {
  return [elementText(objectIn(block, "accessory"))];
}

/** What a reader of text can do with the element: follow a button's link, read the rest. */
function elementText(element: Fields): string {
  if (element.type === "image") return textIn(element, "alt_text");
  if (element.type === "mrkdwn" || element.type === "plain_text") return textObject(element);
  const url = textIn(element, "url");
  return url === "" ? "" : linkText(textOf(element, "text"), url);
}

function image(block: Fields): string {
  const url = textIn(block, "image_url") || textIn(objectIn(block, "slack_file"), "url");
  return linkText(textOf(block, "title") || textIn(block, "alt_text"), url);
}

function rows(block: Fields): string[] {
  const all = Array.isArray(block.rows) ? block.rows : [];
  return all.map((row) => objectsIn({ row }, "row").map(cell).join(" | ")).filter((line) => line !== "");
}

function cell(fields: Fields): string {
  return fields.type === "rich_text" ? richText(fields) : textIn(fields, "text");
}

function textOf(fields: Fields, name: string): string {
  return textIn(fields, name) || textObject(objectIn(fields, name));
}

function textObject(object: Fields): string {
  const text = textIn(object, "text");
  return object.type === "plain_text" ? unescaped(text) : plainOf(text);
}
