import { expect, test } from "bun:test";
import type { Message } from "../../src/messages/schemas.ts";
import { type ApiClient, apiClient } from "../support/client.ts";
import { until } from "../support/conditions.ts";
import { columnOf, rowsOf } from "../support/data.ts";
import { engine } from "../support/engine.ts";
import { startStage } from "../support/stage.ts";

const crashes = 20;
const senders = 16;
/** How many messages are answered with 201 before each crash, at least: other numbers each time, never the same moment. */
const messagesBefore = (crash: number) => 100 + ((crash * 137) % 400);

/** What the server has said about its messages: what it answered, and what it was asked and never answered. */
class Promises {
  /** The body of each message that was answered with 201 or, edited, with 200. */
  readonly kept = new Map<string, string>();
  /** The messages that were under way when the server died: whether they count is not known. */
  unanswered: Array<{ body: string; client_uuid: string }> = [];
  /** Those of all crashes. */
  interrupted = 0;
}

/** The answer, or undefined when the connection broke. Whatever else goes wrong is a failure of the test. */
async function unlessItDied<Value>(request: Promise<Value>): Promise<Value | undefined> {
  return await request.catch((error: unknown) => {
    // Only errors of the system have a code.
    if (error instanceof Error && "code" in error) return undefined;
    throw error;
  });
}

/** Posts one message after another and edits every fourth, until the server is gone. */
async function sendUntilTheEnd(client: ApiClient, messages: string, promises: Promises): Promise<void> {
  for (let number = 0; ; number++) {
    const message = { body: `message ${number}`, client_uuid: crypto.randomUUID() };
    const posted = await unlessItDied(client.post<{ data: Message }>(messages, message));
    if (!posted) {
      promises.unanswered.push(message);
      promises.interrupted++;
      return;
    }
    expect(posted.status).toBe(201);
    const { id } = posted.json.data;
    promises.kept.set(id, message.body);
    if (number % 4 !== 3) continue;

    const edited = await unlessItDied(client.patch(`${messages}/${id}`, { body: "edited" }));
    if (!edited) {
      // Edited or not: either is right, since nothing was said.
      promises.kept.delete(id);
      promises.interrupted++;
      return;
    }
    expect(edited.status).toBe(200);
    promises.kept.set(id, "edited");
  }
}

/** What the data holds, read by this process. */
async function readData(dataDir: string, channelId: string) {
  const rows = await rowsOf<{ id: string; position: number; body: string }>(
    dataDir,
    "SELECT id, position, body FROM messages WHERE channel_id = ? ORDER BY position",
    channelId,
  );
  const last = await columnOf<number>(dataDir, "SELECT last_position FROM channels WHERE id = ?", channelId);
  return {
    bodies: new Map(rows.map(({ id, body }) => [id, body])),
    positions: rows.map(({ position }) => position),
    lastPosition: last[0],
  };
}

test(`${crashes} crashes under load lose nothing that was answered, and leave no gap and no damage`, async () => {
  await using stage = await startStage();
  const { cast, server, workspace } = stage;
  const { token } = await workspace.token(cast.bot);
  const messages = `/channels/${cast.open.id}/messages`;
  const promises = new Promises();

  for (let crash = 0; crash < crashes; crash++) {
    const client = apiClient(server.url, token);
    const before = promises.kept.size;
    const sending = Array.from({ length: senders }, () => sendUntilTheEnd(client, messages, promises));
    await until("there is enough to lose", () => promises.kept.size - before >= messagesBefore(crash));
    await server.kill9();
    await Promise.all(sending);

    await server.restart();
    const { bodies, positions, lastPosition } = await readData(server.dataDir, cast.open.id);
    if (engine === "sqlite") {
      expect(await columnOf(server.dataDir, "PRAGMA integrity_check")).toEqual(["ok"]);
    }
    expect(positions).toEqual(positions.map((_, index) => index + 1));
    expect(lastPosition).toBe(positions.length);
    for (const [id, body] of promises.kept) expect(bodies.get(id)).toBe(body);

    // Whoever got no answer sends again, and cannot be the cause of a duplicate.
    const next = apiClient(server.url, token);
    for (const message of promises.unanswered.splice(0)) {
      const { status, json } = await next.post<{ data: Message }>(messages, message);
      expect(status).toBe(201);
      promises.kept.set(json.data.id, json.data.body);
    }
  }
  expect(promises.interrupted).toBe(crashes * senders);
  const page = await apiClient(server.url, token).get<{ meta: { total: number } }>(messages);
  const { bodies } = await readData(server.dataDir, cast.open.id);
  expect(page.json.meta.total).toBe(bodies.size);
}, 180_000);
