import { describe, expect, test } from "bun:test";
import { apiClient } from "../support/client.ts";
import { rowsOf } from "../support/data.ts";
import { startWebhookStage } from "../support/webhook-stage.ts";
import { bodyOf, pathOf, readAll, readPage } from "./feed-reader.ts";

const archive = { name: "archive", url: null, pull: true, events: ["message.created"] };
const longAgo = Date.now() - 365 * 86_400_000;

describe("a cursor", () => {
  test("is refused with 422 if it is none, as are other parameters that are out of bounds", async () => {
    await using stage = await startWebhookStage();
    const { data } = (await stage.api.post<{ data: { id: string } }>("/webhooks", archive)).json;
    for (const [query, field] of [
      ["after=yesterday", "after"],
      ["after=", "after"],
      ["after=zzzzzzzzzzz-000000000000", "after"],
      ["limit=0", "limit"],
      ["limit=1001", "limit"],
      ["limit=ten", "limit"],
      ["wait=51", "wait"],
      ["wait=-1", "wait"],
    ]) {
      const answer = await stage.api.get(`/webhooks/${data.id}/events?${query}`);
      expect(answer.status, query).toBe(422);
      expect(answer.json.errors, query).toHaveProperty(field ?? "");
    }
    expect((await stage.api.get(`/webhooks/${crypto.randomUUID()}/events?after=none`)).status).toBe(404);
    const { token } = await stage.workspace.token(stage.team.owner, "webhooks:read");
    expect((await apiClient(stage.server.url, token).get(`/webhooks/${data.id}/events`)).status).toBe(403);
  });

  test("of an event that this copy of the data does not have is 410, which says how to go on", async () => {
    await using stage = await startWebhookStage();
    const { data } = (await stage.api.post<{ data: { id: string } }>("/webhooks", archive)).json;
    await stage.post(stage.team.general, "hello");
    const [event] = await readAll(stage.api, data);
    const [number = ""] = (event?.cursor ?? "").split("-");
    // Another event of this number, and an event that is still to come.
    for (const after of [`${number}-000000000000`, "zzzz-000000000000"]) {
      const answer = await stage.api.get(pathOf(data, { after }));
      expect(answer.status).toBe(410);
      expect(answer.json.message).toContain("Leave out `after`");
    }
  });

  test("is 410 once events after it were deleted, and not if only those before it were", async () => {
    await using stage = await startWebhookStage();
    const { data } = (await stage.api.post<{ data: { id: string } }>("/webhooks", archive)).json;
    const { meta: start } = await readPage(stage.api, data);
    for (const body of ["one", "two"]) await stage.post(stage.team.general, body);
    const [one, two] = await readAll(stage.api, data);
    await stage.stop();
    await rowsOf(stage.dataDir, "UPDATE events SET created_at = ?", longAgo);
    await stage.restart();
    await stage.server.logLine(({ msg, events }) => msg === "retention.swept" && events === 2);
    for (const after of [start.next, one?.cursor])
      expect((await stage.api.get(pathOf(data, { after }))).status).toBe(410);

    await stage.post(stage.team.general, "three");
    for (const after of [two?.cursor, undefined])
      expect((await readAll(stage.api, data, { after })).map(bodyOf)).toEqual(["three"]);
  });
});

test("where deliveries depend on creators, events are read that the creator sees now and saw when they happened", async () => {
  await using stage = await startWebhookStage({ WEBHOOKS_VISIBILITY: "creator" });
  const [open, hidden] = [await stage.channel(), await stage.channel("private")];
  const member = await stage.workspace.person(stage.team.id, "Member");
  const { token } = await stage.workspace.token(member);
  const api = apiClient(stage.server.url, token);
  const { data } = (await api.post<{ data: { id: string } }>("/webhooks", archive)).json;
  // Stored, since the owner's sees everything.
  await stage.api.post("/webhooks", archive);
  const read = async () => (await readAll(stage.api, data)).map(bodyOf).filter(Boolean);
  await stage.post(open, "open");
  await stage.post(hidden, "before");
  expect(await read()).toEqual(["open"]);
  await stage.workspace.join(hidden, member);
  await stage.post(hidden, "joined");
  expect(await read()).toEqual(["open", "joined"]);
  await stage.workspace.leave(hidden, member);
  expect(await read()).toEqual(["open"]);
});
