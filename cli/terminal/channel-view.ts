import type { ListedChannel } from "../../src/channels/channels.ts";

/** The channel's name as people write it: `#deploys`, or the two names of a direct message. */
export function channelTitle({ name, is_direct }: Pick<ListedChannel, "name" | "is_direct">): string {
  return is_direct ? name : `#${name}`;
}

/** The kind of channel in a few words: `private`, `direct`, `public, archived`. */
export function channelKind({ visibility, is_direct, is_archived, is_managed }: ListedChannel): string {
  const kind = is_direct ? "direct" : visibility;
  return kind + (is_managed ? ", managed by the directory" : "") + (is_archived ? ", archived" : "");
}
