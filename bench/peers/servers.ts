import { messagesPerPage } from "../../src/messages/schemas.ts";
import type { Child } from "../child.ts";
import type { Load } from "../load.ts";
import { pageRequest } from "../pages.ts";
import { startParley } from "../parley.ts";
import { postRequest } from "../posts.ts";
import { fillMessages } from "../tables.ts";
import { seedWorkspace } from "../workspace.ts";
import { startPocketBase, type Synchronous } from "./pocketbase.ts";

type Request = Pick<Load, "url" | "method" | "headers" | "body">;

/** A server under comparison: its requests, and how to read its responses. */
export type Server = {
  name: string;
  process: Child;
  /** Its database file, with the table `messages`. */
  file: string;
  post: Request;
  page: Request;
  bodyOf: (posted: unknown) => string;
  messagesOf: (page: unknown) => Array<{ body: string; author: string }>;
};

/** The number of messages in the channel at the start. */
const messages = 1_000;

/** Starts Parley, PocketBase as it ships and PocketBase at FULL, each on data of its own. */
export async function startServers(stack: AsyncDisposableStack): Promise<Server[]> {
  const parley = await startParleyServer(stack);
  return [
    parley,
    await startPocketBaseServer("PocketBase, as it ships", "NORMAL", parley.post, stack),
    await startPocketBaseServer("PocketBase, `synchronous=FULL`", "FULL", parley.post, stack),
  ];
}

async function startParleyServer(stack: AsyncDisposableStack): Promise<Server> {
  const workspace = await seedWorkspace();
  fillMessages(workspace, workspace.channel, messages);
  const parley = stack.use(await startParley(workspace.dataDir));
  return {
    name: "Parley",
    process: parley,
    file: workspace.file,
    post: postRequest(parley, workspace),
    page: pageRequest(parley, workspace, workspace.channel, 1),
    bodyOf: (posted) => (posted as { data: { body: string } }).data.body,
    messagesOf: (page) =>
      (page as { data: Array<{ body: string; author: { name: string } }> }).data.map(({ body, author }) => ({
        body,
        author: author.name,
      })),
  };
}

/** `parleyPost` gives the text of the message, so that both servers store the same. */
async function startPocketBaseServer(
  name: string,
  synchronous: Synchronous,
  parleyPost: Request,
  stack: AsyncDisposableStack,
): Promise<Server> {
  const pocketBase = stack.use(await startPocketBase(synchronous, messages));
  const { channel, author, token } = pocketBase;
  const url = `${pocketBase.url}/api/collections/messages/records`;
  const headers = { Authorization: `Bearer ${token}` };
  const query = new URLSearchParams({
    perPage: `${messagesPerPage}`,
    sort: "-created",
    expand: "author",
    filter: `(channel='${channel}')`,
    skipTotal: "1",
  });
  return {
    name,
    process: pocketBase,
    file: pocketBase.file,
    post: {
      url,
      method: "POST",
      headers: { ...headers, "Content-Type": "application/json" },
      body: JSON.stringify({ ...(JSON.parse(parleyPost.body ?? "") as { body: string }), channel, author }),
    },
    page: { url: `${url}?${query.toString()}`, headers },
    bodyOf: (posted) => (posted as { body: string }).body,
    messagesOf: (page) =>
      (page as { items: Array<{ body: string; expand: { author: { name: string } } }> }).items.map(
        ({ body, expand }) => ({ body, author: expand.author.name }),
      ),
  };
}
