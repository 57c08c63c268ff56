import type { ChannelRow } from "../src/channels/store.ts";
import type { Figures, Scale } from "./benchmark.ts";
import { load } from "./load.ts";
import type { Parley } from "./parley.ts";
import { manyConnections } from "./posts.ts";
import type { Seeded } from "./workspace.ts";

/** One run of reading one page of the channel's messages, with the server's memory at its end. */
export async function readPage(
  parley: Parley,
  { token }: Seeded,
  channel: ChannelRow,
  page: number,
  { seconds }: Scale,
): Promise<Figures> {
  const url = `${parley.url}/api/v1/channels/${channel.id}/messages?page=${page}`;
  const headers = { Authorization: `Bearer ${token}` };
  const { figures } = await load({ url, headers, connections: manyConnections, seconds });
  return { ...figures, rssMb: parley.rssMb() };
}
