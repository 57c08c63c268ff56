// Neither pattern can match what the other one has looked at already: the time is linear in the length of the text.
const bracketed = /<([^<>]*)>/g;
const entity = /&(amp|lt|gt);/g;

const characters: Record<string, string> = { amp: "&", lt: "<", gt: ">" };

/**
 * Returns Slack's mrkdwn as plain text: links become their label with the address behind it, mentions and dates what
 * Slack shows of them. Marks such as `*` and `` ` `` stay, since they can be read.
 */
export function plainOf(mrkdwn: string): string {
  return unescaped(mrkdwn.replace(bracketed, (whole, inner: string) => shown(inner) ?? whole));
}

/** Returns the text of Slack's `plain_text`, in which only the characters of mrkdwn's brackets are escaped. */
export function unescaped(text: string): string {
  return text.replace(entity, (_whole, name: string) => characters[name] as string);
}

/** Returns a label with the address behind it, or the address alone where the label says no more. */
export function linkText(label: string, url: string): string {
  const words = label.trim();
  if (words === "" || url.endsWith(words)) return url.replace(/^mailto:/, "");
  return url === "" ? words : `${words} (${url})`;
}

function shown(inner: string): string | undefined {
  const bar = inner.indexOf("|");
  const target = bar === -1 ? inner : inner.slice(0, bar);
  const label = bar === -1 ? "" : inner.slice(bar + 1);
  if (target.startsWith("@")) return named("@", label || target.slice(1));
  if (target.startsWith("#")) return named("#", label || target.slice(1));
  if (target.startsWith("!")) return special(target.slice(1), label);
  return /^[a-z][a-z0-9+.-]*:/i.test(target) ? linkText(label, target) : undefined;
}

function special(command: string, label: string): string {
  const [name = "", id = ""] = command.split("^", 2);
  if (name === "date") return label;
  if (name === "subteam") return named("@", label || id);
  return label ? named("", label) : named("@", name);
}

function named(mark: string, name: string): string {
  return name.startsWith(mark) ? name : mark + name;
}
