import { expect, test } from "bun:test";
import { alertPlaceOf, setAlertChannel } from "../../src/alerts/alerts.ts";
import { disableSubscription } from "../../src/subscriptions/status.ts";
import { until } from "../support/conditions.ts";
import { startNodes } from "../support/nodes.ts";
import { actor } from "../support/workspace.ts";

type Page = { data: Array<{ body: string; type: string }> };

test("servers that start together tell a team once, and none tells it again", async () => {
  await using stage = await startNodes(3);
  const { database, team } = stage;
  await database.write((tx) => setAlertChannel(tx, team.general, actor));
  expect((await database.ask((db) => alertPlaceOf(db, team.id)))?.problem).toBeNull();
  const said = async () => {
    const { json } = await stage.api(0).get<Page>(`/channels/${team.general.id}/messages`);
    return json.data.filter(({ type }) => type === "standard").map(({ body }) => body);
  };
  const restart = async () => {
    await Promise.all(stage.nodes.map((node) => node.stop()));
    await Promise.all(stage.nodes.map((node) => node.start()));
  };
  for (const count of [1, 2]) {
    const id = await stage.subscribe("http://127.0.0.1:1/");
    await database.write((tx) => disableSubscription(tx, team.id, id, actor));
    await restart();
    await until("the team is told", async () => (await said()).length >= count);
    // A stop waits for what is being said.
    await restart();
    expect((await said()).filter((body) => body.includes("was disabled"))).toHaveLength(count);
  }
}, 120_000);
