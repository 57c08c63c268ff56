import { messagesPerPage } from "../../src/messages/schemas.ts";
import type { Benchmark, Figures } from "../benchmark.ts";
import { load } from "../load.ts";
import { measurePosts } from "../posts.ts";
import { type Server, startServers } from "./servers.ts";

/** The loads under which the servers are compared, each on fresh data. */
export const comparisons: Benchmark[] = [posts(1, 64), posts(2, 16), page(3, 64)];

function posts(row: number, connections: number): Benchmark {
  return {
    row,
    title: `Posts, ${connections} connections`,
    method:
      "Post: a message of 97 characters with a user's token, into a channel of 1,000 messages or more. " +
      "After each run the database must hold every message that was acknowledged.",
    goals: [],
    async start(scale, stack) {
      return sides(await startServers(stack), async (server) => {
        await checkPost(server);
        return await measurePosts(server.process, server.file, server.post, scale, connections);
      });
    },
  };
}

function page(row: number, connections: number): Benchmark {
  return {
    row,
    title: `A page of ${messagesPerPage} messages with authors, ${connections} connections`,
    method: "Page: the newest of a channel's 1,000 messages, by two authors in turn.",
    goals: [],
    async start({ seconds }, stack) {
      return sides(await startServers(stack), async (server) => {
        await checkPage(server);
        return (await load({ ...server.page, connections, seconds })).figures;
      });
    },
  };
}

function sides(servers: Server[], run: (server: Server) => Promise<Figures>) {
  return Object.fromEntries(servers.map((server) => [server.name, () => run(server)]));
}

/** @throws unless the server returns the message that it was sent. */
async function checkPost({ name, post, bodyOf }: Server): Promise<void> {
  const response = await fetch(post.url, post);
  const text = await response.text();
  const sent = JSON.parse(post.body ?? "") as { body: string };
  if (!response.ok || bodyOf(JSON.parse(text)) !== sent.body)
    throw new Error(`${name} responded to a post with ${response.status}: ${text}`);
}

/** @throws unless the server returns a full page, each message with its author's name. */
async function checkPage({ name, page, messagesOf }: Server): Promise<void> {
  const response = await fetch(page.url, page);
  const text = await response.text();
  const messages = response.ok ? messagesOf(JSON.parse(text)) : [];
  if (messages.length !== messagesPerPage || !messages.every(({ body, author }) => body && author))
    throw new Error(`${name} responded to the request for a page with ${response.status}: ${text}`);
}
