import { expect, test } from "bun:test";
import { sayAlerts, setAlertChannel } from "../../src/alerts/alerts.ts";
import { endSchedule, noteResult, setSchedule } from "../../src/backup/schedule.ts";
import type { Database } from "../../src/database/database.ts";
import { timestamp } from "../../src/timestamp.ts";
import { apiClient } from "../support/client.ts";
import { until } from "../support/conditions.ts";
import { columnOf, rowsOf } from "../support/data.ts";
import { startServer } from "../support/server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { actor, openWorkspace } from "../support/workspace.ts";

const hourMs = 3_600_000;
const mega = 1_000_000;
const plenty = 100_000 * mega;

/** A team that is told in its first channel. `look` returns what is said about a disk with so many bytes free. */
async function startTold() {
  const folder = temporaryFolder();
  const workspace = await openWorkspace(folder.path);
  const { database } = workspace;
  const team = await workspace.team("Acme");
  await database.write((tx) => setAlertChannel(tx, team.general, actor));
  const bodies = () =>
    columnOf<string>(folder.path, "SELECT body FROM messages WHERE type = 'standard' ORDER BY position");
  return {
    folder,
    database,
    async look(freeBytes = plenty): Promise<string[]> {
      const before = (await bodies()).length;
      expect(await database.write((tx) => sayAlerts(tx, team.id, freeBytes))).toBeNull();
      return (await bodies()).slice(before);
    },
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

/** Notes a backup that was made so many hours ago, and returns when that was. */
async function backUp(database: Database, kind: "made" | "by_hand", hoursAgo: number): Promise<string> {
  const at = Date.now() - hoursAgo * hourMs;
  const row = { kind, at, file: "/mnt/backups/secret-name.tar", bytes: 1, reason: null };
  await database.write((tx) => noteResult(tx, row));
  return timestamp(at);
}

/** Has the server back up every six hours, as decided so many hours ago. */
async function backUpEverySixHours(told: Awaited<ReturnType<typeof startTold>>, hoursAgo: number) {
  const schedule = { everyMs: 6 * hourMs, keep: 3, folder: "/mnt/backups", passphraseFile: null };
  await told.database.write((tx) => setSchedule(tx, schedule, actor));
  await rowsOf(told.folder.path, "UPDATE backup_schedule SET set_at = set_at - ?", hoursAgo * hourMs);
}

const overdue = (at: string) =>
  `A backup is overdue: the last one was made at ${at}. What is known: parley status`;

test("a team is told once that a scheduled backup is overdue, and that one is made again", async () => {
  await using told = await startTold();
  await backUpEverySixHours(told, 100);
  await backUp(told.database, "made", 11.9);
  expect(await told.look()).toEqual([]);
  const at = await backUp(told.database, "made", 12.1);
  expect(await told.look()).toEqual([overdue(at)]);
  expect(await told.look()).toEqual([]);
  await backUp(told.database, "by_hand", -0.01);
  expect(await told.look()).toEqual(["A backup was made again."]);
  expect(await told.look()).toEqual([]);
}, 60_000);

test("a schedule that never made a backup is told of, and its end needs no message", async () => {
  await using told = await startTold();
  await backUpEverySixHours(told, 11.9);
  expect(await told.look()).toEqual([]);
  await backUpEverySixHours(told, 12.1);
  expect(await told.look()).toEqual(["A backup is overdue: none was made yet. What is known: parley status"]);
  await told.database.write((tx) => endSchedule(tx, actor));
  expect(await told.look()).toEqual([]);
  await backUpEverySixHours(told, 12.1);
  expect(await told.look()).toHaveLength(1);
}, 60_000);

test("backups by hand are overdue after eight days, and a workspace without any is not told", async () => {
  await using told = await startTold();
  expect(await told.look()).toEqual([]);
  await backUp(told.database, "by_hand", 8 * 24 - 1);
  expect(await told.look()).toEqual([]);
  const at = await backUp(told.database, "by_hand", 8 * 24 + 1);
  expect(await told.look()).toEqual([overdue(at)]);
}, 60_000);

test("a schedule of a few minutes gets an hour", async () => {
  await using told = await startTold();
  await backUpEverySixHours(told, 100);
  await rowsOf(told.folder.path, "UPDATE backup_schedule SET every_ms = ?", hourMs / 60);
  await backUp(told.database, "made", 0.9);
  expect(await told.look()).toEqual([]);
  await backUp(told.database, "made", 1.1);
  expect(await told.look()).toHaveLength(1);
}, 60_000);

test("a team is told once that the disk runs low, until there is clearly more room", async () => {
  await using told = await startTold();
  expect(await told.look(1_000 * mega)).toEqual([]);
  expect(await told.look(999 * mega)).toEqual([
    "The disk of the data folder runs low: 999 MB are free. Make room on it while Parley can still write.",
  ]);
  expect(await told.look(500 * mega)).toEqual([]);
  expect(await told.look(1_499 * mega)).toEqual([]);
  expect(await told.look(900 * mega)).toEqual([]);
  expect(await told.look(1_500 * mega)).toEqual([
    "The disk of the data folder has room again: 1,500 MB are free.",
  ]);
  expect(await told.look(1_200 * mega)).toEqual([]);
  expect(await told.look(999 * mega)).toHaveLength(1);
}, 60_000);

test("a server on a small disk says that it runs low", async () => {
  using seed = temporaryFolder();
  using place = temporaryFolder();
  const workspace = await openWorkspace(seed.path);
  const team = await workspace.team("Acme");
  const { token } = await workspace.token(team.owner);
  await workspace.database.write((tx) => setAlertChannel(tx, team.general, actor));
  await workspace[Symbol.asyncDispose]();
  const onSmallDisk = 'mount -t tmpfs -o size=90m tmpfs "$0" && cp -a "$1/." "$0" && shift && exec "$@"';
  await using server = await startServer({
    dataDir: place.path,
    environment: { PATH: process.env.PATH ?? "" },
    within: ["unshare", "--map-root-user", "--mount", "sh", "-c", onSmallDisk, place.path, seed.path],
  });
  const said = async () => {
    const path = `/channels/${team.general.id}/messages`;
    const { json } = await apiClient(server.url, token).get<{ data: Array<{ body: string }> }>(path);
    return json.data.filter(({ body }) => body.includes("runs low: "));
  };
  await until("the team is told", async () => (await said()).length > 0);
  expect(await said()).toHaveLength(1);
}, 60_000);
