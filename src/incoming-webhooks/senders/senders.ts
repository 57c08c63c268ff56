import { notFound } from "../../errors.ts";
import { alertmanager } from "./alertmanager.ts";
import { discord } from "./discord.ts";
import { gitea } from "./gitea.ts";
import { github } from "./github.ts";
import { gitlab } from "./gitlab.ts";
import { grafana } from "./grafana.ts";
import type { Post, Sender } from "./sender.ts";
import { sentry } from "./sentry.ts";
import { slack } from "./slack.ts";
import { text } from "./text.ts";
import { uptimeKuma } from "./uptime-kuma.ts";

/** The senders that have an address of their own, in the order in which people are shown them. */
export const senders: readonly Sender[] = [
  slack,
  discord,
  github,
  gitea,
  gitlab,
  alertmanager,
  grafana,
  sentry,
  uptimeKuma,
  text,
];

const bySuffix = new Map(senders.map((sender) => [sender.suffix, sender]));

/** Returns the sender whose address ends like this; undefined if there is none. */
export function senderOf(suffix: string): Sender | undefined {
  return bySuffix.get(suffix);
}

/**
 * Returns the sender whose address ends like this.
 * @throws DomainError `not_found`, which names those that there are.
 */
export function getSender(suffix: string): Sender {
  const found = senderOf(suffix);
  if (!found) {
    const all = [...bySuffix.keys()].map((each) => `/${each}`).join(", ");
    throw notFound(`form of an incoming webhook; after the address comes nothing or one of ${all}`);
  }
  return found;
}

/** Returns the sender that the post looks like; undefined if it looks like none. */
export function recognizedSender(post: Post): Sender | undefined {
  return senders.find((sender) => sender.isFrom?.(post) === true);
}
