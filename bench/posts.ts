import { createHmac } from "node:crypto";
import { join } from "node:path";
import type { Figures, Scale, Sides } from "./benchmark.ts";
import { startFloor } from "./floor.ts";
import { type Load, load } from "./load.ts";
import type { Parley } from "./parley.ts";
import { checkAcknowledged, countRows } from "./tables.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import type { Seeded } from "./workspace.ts";

/** How many connections put the load on, where a benchmark says nothing else. */
export const manyConnections = 64;

const body = JSON.stringify({
  body: "Build 4711 of the main branch passed in 4 minutes and 12 seconds: 1204 tests, none of them flaky.",
});

/** How the load differs from posting as fast as it goes. */
type Pace = Partial<Pick<Load, "connections" | "seconds" | "pauseMs">>;

/** One run of posting messages, with the server's memory at its end; every acknowledged message is counted. */
export async function postMessages(
  parley: Parley,
  workspace: Seeded,
  scale: Scale,
  pace: Pace = {},
): Promise<Figures> {
  const url = `${parley.url}/api/v1/channels/${workspace.channel.id}/messages`;
  const headers = { Authorization: `Bearer ${workspace.token}`, "Content-Type": "application/json" };
  const figures = await loadCounted(workspace.file, { url, headers, ...paceOf(scale, pace) });
  return { ...figures, rssMb: parley.rssMb() };
}

/** One run of posting through the signed incoming webhook, counted in the same way. */
export async function postIncoming(
  parley: Parley,
  workspace: Seeded,
  scale: Scale,
  pace: Pace = {},
): Promise<Figures> {
  const { token, secret } = workspace.incoming;
  const signature = createHmac("sha256", secret).update(incomingBody).digest("hex");
  const url = `${parley.url}/webhooks/incoming/${token}`;
  const headers = { "X-Signature-256": `sha256=${signature}`, "Content-Type": "application/json" };
  const figures = await loadCounted(workspace.file, {
    url,
    headers,
    body: incomingBody,
    ...paceOf(scale, pace),
  });
  return { ...figures, rssMb: parley.rssMb() };
}

const incomingBody = body.replace('"body"', '"text"');

/** The side of floor 2: the same load on the least that stores a message. */
export async function insertFloor(scale: Scale, stack: AsyncDisposableStack): Promise<Sides[string]> {
  const file = join(temporaryFolder(), "floor.db");
  const floor = stack.use(await startFloor("insert", file));
  const headers = { "Content-Type": "application/json" };
  return async () => {
    const figures = await loadCounted(file, { url: floor.firstLine, headers, ...paceOf(scale, {}) });
    return { ...figures, rssMb: floor.rssMb() };
  };
}

function paceOf(scale: Scale, pace: Pace) {
  return { connections: manyConnections, seconds: scale.seconds, ...pace };
}

async function loadCounted(file: string, posts: Load): Promise<Figures> {
  const before = countRows(file, "messages");
  const { answered, figures } = await load({ method: "POST", body, ...posts });
  checkAcknowledged(file, before, answered, posts.connections);
  return figures;
}
