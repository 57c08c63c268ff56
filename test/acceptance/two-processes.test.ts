import { expect, test } from "bun:test";
import type { Message, MessagePage } from "../../src/messages/schemas.ts";
import { columnOf, rowsOf } from "../support/data.ts";
import { engine } from "../support/engine.ts";
import { startServer } from "../support/server.ts";
import { startStage } from "../support/stage.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { openWorkspace } from "../support/workspace.ts";

test("the server and another process that write at once lose nothing and take no position twice", async () => {
  await using stage = await startStage();
  const { cast, workspace, server } = stage;
  const member = await stage.as(cast.member);
  const messages = `/channels/${cast.open.id}/messages`;
  const before = (await member.get<MessagePage>(messages)).json.meta.total;

  const expected = new Set<string>();
  async function postThroughServer(lane: number): Promise<void> {
    for (let number = 0; number < 25; number++) {
      const body = `server ${lane}.${number}`;
      const { status, json } = await member.post<{ data: Message }>(messages, { body });
      expect(status).toBe(201);
      expected.add(json.data.id);
    }
  }
  async function postDirectly(lane: number): Promise<void> {
    for (let number = 0; number < 25; number++) {
      expected.add((await workspace.message(cast.open, cast.bot, `direct ${lane}.${number}`)).id);
    }
  }
  await Promise.all(
    [0, 1, 2, 3, 4, 5, 6, 7].flatMap((lane) => [postThroughServer(lane), postDirectly(lane)]),
  );

  const found: Message[] = [];
  for (let page = 1; page <= Math.ceil((before + 400) / 50); page++) {
    const { json } = await member.get<MessagePage>(`${messages}?page=${page}`);
    expect(json.meta.total).toBe(before + 400);
    found.push(...json.data);
  }
  expect(found).toHaveLength(before + 400);
  expect(new Set(found.map(({ id }) => id)).isSupersetOf(expected)).toBe(true);
  expect(expected.size).toBe(400);

  expect(await server.stop()).toBe(0);
  if (engine === "sqlite") {
    expect(await columnOf(server.dataDir, "PRAGMA integrity_check")).toEqual(["ok"]);
  }
});

test("data that a newer parley has used is rejected with the reason, and left unchanged", async () => {
  using folder = temporaryFolder();
  await (await openWorkspace(folder.path))[Symbol.asyncDispose]();
  const addMigration = "INSERT INTO migrations (name, applied_at) VALUES ('9999_from_the_future', 0)";
  await rowsOf(folder.path, addMigration);
  const start = startServer({ dataDir: folder.path });
  const refusal = await start.then(() => "started", String);
  expect(refusal).toContain("9999_from_the_future");
  expect(refusal).toContain("newer parley");

  await rowsOf(folder.path, "DELETE FROM migrations WHERE name = '9999_from_the_future'");
  await using server = await startServer({ dataDir: folder.path });
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
});
