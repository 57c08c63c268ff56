import { createHmac } from "node:crypto";
import { join } from "node:path";
import type { Figures, Scale, Sides } from "./benchmark.ts";
import type { Child } from "./child.ts";
import { startFloor } from "./floor.ts";
import { type Load, load } from "./load.ts";
import type { Parley } from "./parley.ts";
import { checkAcknowledged, countRows } from "./tables.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import type { Seeded } from "./workspace.ts";

/** How many connections put the load on, unless a benchmark says otherwise. */
export const manyConnections = 64;

const body = JSON.stringify({
  body: "Build 4711 of the main branch passed in 4 minutes and 12 seconds: 1204 tests, none of them flaky.",
});

/** A request without its load: how many connections repeat it, and for how long. */
type Request = Omit<Load, "connections" | "seconds" | "pauseMs">;

/** The request that posts a message as the seeded bot. */
export function postRequest({ url }: Parley, { channel, token }: Seeded): Request {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  return { url: `${url}/api/v1/channels/${channel.id}/messages`, method: "POST", headers, body };
}

/** The request that posts through the seeded incoming webhook, signed. */
export function incomingRequest({ url }: Parley, { incoming }: Seeded): Request {
  const text = body.replace('"body"', '"text"');
  const signature = createHmac("sha256", incoming.secret).update(text).digest("hex");
  const headers = { "X-Signature-256": `sha256=${signature}`, "Content-Type": "application/json" };
  return { url: `${url}/webhooks/incoming/${incoming.token}`, method: "POST", headers, body: text };
}

/** One run of a request that adds a message each time it is sent, with the server's memory at its end. */
export async function measurePosts(
  server: Child,
  file: string,
  request: Request,
  { seconds }: Scale,
  connections = manyConnections,
): Promise<Figures> {
  const figures = await loadCounted(file, { ...request, connections, seconds });
  return { ...figures, rssMb: server.rssMb() };
}

/** The side of floor 2: the same load on the smallest server that stores a message. */
export async function insertFloor(scale: Scale, stack: AsyncDisposableStack): Promise<Sides[string]> {
  const file = join(temporaryFolder(), "floor.db");
  const floor = stack.use(await startFloor("insert", file));
  const headers = { "Content-Type": "application/json" };
  return () => measurePosts(floor, file, { url: floor.firstLine, method: "POST", headers, body }, scale);
}

/**
 * Puts several loads that add messages on a server at once, and returns the figures of the first.
 * @throws when the database lacks an acknowledged message.
 */
export async function loadCounted(file: string, first: Load, ...others: Load[]): Promise<Figures> {
  const before = countRows(file, "messages");
  const done = await Promise.all([load(first), ...others.map(load)]);
  const answered = done.reduce((sum, part) => sum + part.answered, 0);
  const connections = [first, ...others].reduce((sum, part) => sum + part.connections, 0);
  checkAcknowledged(file, before, answered, connections);
  return done[0].figures;
}
