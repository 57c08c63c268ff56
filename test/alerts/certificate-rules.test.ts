import { expect, test } from "bun:test";
import { sayAlerts, setAlertChannel } from "../../src/alerts/alerts.ts";
import { setArchived } from "../../src/channels/channels.ts";
import { updateCertificate, updateSubscription } from "../../src/subscriptions/store.ts";
import { timestamp } from "../../src/timestamp.ts";
import { columnOf, rowsOf } from "../support/data.ts";
import { insertSubscriber } from "../support/subscriber.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { actor, openWorkspace } from "../support/workspace.ts";

const dayMs = 24 * 60 * 60_000;
const plenty = 100_000_000_000;

/** A team that is told, and its subscription. `look` returns what is said when the certificate ends then. */
async function startTold() {
  const folder = temporaryFolder();
  const workspace = await openWorkspace(folder.path);
  const { database } = workspace;
  const team = await workspace.team("Acme");
  const id = await insertSubscriber(database, team.id);
  await database.write((tx) => setAlertChannel(tx, team.general, actor));
  const bodies = () =>
    columnOf<string>(folder.path, "SELECT body FROM messages WHERE type = 'standard' ORDER BY position");
  return {
    folder,
    setStatus: (status: "active" | "disabled") =>
      database.write((tx) => updateSubscription(tx, id, { status })),
    async look(endsAt: number): Promise<string[]> {
      const before = (await bodies()).length;
      await database.write(async (tx) => {
        await updateCertificate(tx, { id, url: "https://receiver.example/" }, endsAt);
        expect(await sayAlerts(tx, team.id, plenty)).toBeNull();
      });
      return (await bodies()).slice(before);
    },
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

test("a receiver that answers with one of two certificates is told of once for each", async () => {
  await using told = await startTold();
  const [sooner, later] = [Date.now() + 5 * dayMs, Date.now() + 9 * dayMs];
  expect(await told.look(later)).toEqual([expect.stringContaining(`ends at ${timestamp(later)}.`)]);
  expect(await told.look(sooner)).toEqual([expect.stringContaining(`ends at ${timestamp(sooner)}.`)]);
  for (const endsAt of [later, sooner, later]) expect(await told.look(endsAt)).toEqual([]);
}, 60_000);

test("the next certificate is told of when the one before has ended, if it ends soon as well", async () => {
  await using told = await startTold();
  expect(await told.look(Date.now() + 5 * dayMs)).toHaveLength(1);
  await rowsOf(told.folder.path, "UPDATE alerts_said SET state = ?", `ends ${Date.now() - 1}`);
  expect(await told.look(Date.now() + 15 * dayMs)).toEqual([]);
  expect(await told.look(Date.now() + 9 * dayMs)).toHaveLength(1);
}, 60_000);

test("a certificate that has ended is said to have, and that of a disabled webhook is not told of", async () => {
  await using told = await startTold();
  const ended = Date.now() - dayMs;
  await told.setStatus("disabled");
  await rowsOf(told.folder.path, "UPDATE alert_channels SET set_at = set_at + ?", dayMs);
  expect(await told.look(ended)).toEqual([]);
  await told.setStatus("active");
  expect(await told.look(ended)).toEqual([expect.stringContaining(`ended at ${timestamp(ended)}.`)]);
  expect(await told.look(ended)).toEqual([]);
}, 60_000);

test("what could not be posted because the channel was archived is posted once it is open again", async () => {
  using folder = temporaryFolder();
  await using workspace = await openWorkspace(folder.path);
  const { database } = workspace;
  const { id: teamId, owner } = await workspace.team("Acme");
  const place = await workspace.channel(owner, "ops");
  await database.write((tx) => setAlertChannel(tx, place, actor));
  const id = await insertSubscriber(database, teamId);
  const url = "https://receiver.example/";
  await database.write((tx) => updateCertificate(tx, { id, url }, Date.now() + dayMs));
  const told = () => columnOf<string>(folder.path, "SELECT channel_id FROM messages WHERE type = 'standard'");
  const say = () => database.write((tx) => sayAlerts(tx, teamId, plenty));

  await database.write((tx) => setArchived(tx, place, true, actor));
  expect([await say(), await told()]).toEqual(["the channel ops is archived", []]);
  await database.write((tx) => setArchived(tx, { ...place, isArchived: true }, false, actor));
  expect([await say(), await told()]).toEqual([null, [place.id]]);
}, 60_000);
