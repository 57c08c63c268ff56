import { expect, test } from "bun:test";
import { startNodes } from "../support/nodes.ts";
import { bodyOf, readAll, readPage } from "./feed-reader.ts";

test("a request that waits on one node is answered with the event that another commits", async () => {
  await using stage = await startNodes(2);
  const channel = stage.team.general.id;
  const created = await stage.api(0).post<{ data: { id: string } }>("/webhooks", {
    name: "archive",
    pull: true,
    events: ["message.created"],
  });
  const subscription = created.json.data;
  for (let turn = 0, after: string | undefined; turn < 6; turn++) {
    const waiting = readPage(stage.api(turn % 2), subscription, { after, wait: 50 });
    await stage.api((turn + 1) % 2).post(`/channels/${channel}/messages`, { body: `message ${turn}` });
    const { data, meta } = await waiting;
    expect(data.map(bodyOf)).toEqual([`message ${turn}`]);
    after = meta.next;
  }
  expect(await readAll(stage.api(1), subscription)).toHaveLength(6);
});
