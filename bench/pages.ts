import type { ChannelRow } from "../src/channels/store.ts";
import type { Figures, Scale } from "./benchmark.ts";
import { type Load, load } from "./load.ts";
import type { Parley } from "./parley.ts";
import { manyConnections } from "./posts.ts";
import type { Seeded } from "./workspace.ts";

/** The request for one page of the channel's messages. */
export function pageRequest(
  parley: Parley,
  { token }: Seeded,
  channel: ChannelRow,
  page: number,
): Pick<Load, "url" | "headers"> {
  const url = `${parley.url}/api/v1/channels/${channel.id}/messages?page=${page}`;
  return { url, headers: { Authorization: `Bearer ${token}` } };
}

/** One run that reads the page over and over, with the server's memory at its end. */
export async function measurePage(
  parley: Parley,
  request: Pick<Load, "url" | "headers">,
  { seconds }: Scale,
): Promise<Figures> {
  const { figures } = await load({ ...request, connections: manyConnections, seconds });
  return { ...figures, rssMb: parley.rssMb() };
}
