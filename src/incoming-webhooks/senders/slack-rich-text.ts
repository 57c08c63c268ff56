import { type Fields, objectIn, objectsIn, textIn } from "./fields.ts";
import { linkText } from "./mrkdwn.ts";

/** Returns the text of a `rich_text` block; lists and quotes keep their marks, the styles of words are left out. */
export function richText(block: Fields): string {
  return objectsIn(block, "elements").map(part).join("\n");
}

function part(element: Fields): string {
  switch (element.type) {
    case "rich_text_list":
      return list(element);
    case "rich_text_quote":
      return inline(element)
        .split("\n")
        .map((line) => `> ${line}`)
        .join("\n");
    default:
      return inline(element).replace(/\n$/, "");
  }
}

function list(element: Fields): string {
  const indent = "  ".repeat(Math.min(whole(element, "indent"), 8));
  const first = whole(element, "offset") + 1;
  const isOrdered = element.style === "ordered";
  return objectsIn(element, "elements")
    .map((item, index) => `${indent}${isOrdered ? `${first + index}.` : "•"} ${inline(item)}`)
    .join("\n");
}

function whole(fields: Fields, name: string): number {
  const value = fields[name];
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : 0;
}

function inline(section: Fields): string {
  return objectsIn(section, "elements").map(piece).join("");
}

function piece(element: Fields): string {
  switch (element.type) {
    case "link":
      return linkText(textIn(element, "text"), textIn(element, "url"));
    case "user":
      return `@${textIn(element, "user_id")}`;
    case "usergroup":
      return `@${textIn(element, "usergroup_id")}`;
    case "channel":
      return `#${textIn(element, "channel_id")}`;
    case "broadcast":
      return `@${textIn(element, "range")}`;
    case "emoji":
      return `:${textIn(element, "name")}:`;
    case "color":
      return textIn(element, "value");
    case "date":
      return textIn(element, "fallback") || dateOf(element);
    default:
      return textIn(element, "text") || textIn(objectIn(element, "text"), "text");
  }
}

function dateOf(element: Fields): string {
  const date = new Date(whole(element, "timestamp") * 1000);
  return Number.isNaN(date.getTime()) ? "" : date.toISOString();
}
