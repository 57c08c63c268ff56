import { notFound } from "../../errors.ts";
import type { Sender } from "./sender.ts";
import { slack } from "./slack.ts";
import { text } from "./text.ts";

/** The senders that have an address of their own, in the order in which people are shown them. */
const senders: readonly Sender[] = [slack, text];

const bySuffix = new Map(senders.map((sender) => [sender.suffix, sender]));

/**
 * Returns the sender whose address ends like this.
 * @throws DomainError `not_found`, which names those that there are.
 */
export function getSender(suffix: string): Sender {
  const found = bySuffix.get(suffix);
  if (!found) {
    const all = [...bySuffix.keys()].map((each) => `/${each}`).join(", ");
    throw notFound(`form of an incoming webhook; after the address comes nothing or one of ${all}`);
  }
  return found;
}
