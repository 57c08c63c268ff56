import type { Channel } from "../src/channels/schemas.ts";

/** The channel's name as people write it: `#deploys`, and the two names of a direct message. */
export function channelTitle({ name, is_direct }: Pick<Channel, "name" | "is_direct">): string {
  return is_direct ? name : `#${name}`;
}

/** What kind of channel it is, in a word or two. */
export function channelKind({ visibility, is_direct, is_archived }: Channel): string {
  return (is_direct ? "direct" : visibility) + (is_archived ? ", archived" : "");
}
