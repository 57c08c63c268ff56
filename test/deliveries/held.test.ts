import { Database as SqliteFile } from "bun:sqlite";
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AuditEntry } from "../../src/audit/audit.ts";
import { run, runJson, runRefused } from "../support/cli.ts";
import {
  type CopiedStage,
  copyFolder,
  markerOf,
  removeLog,
  startCopiedStage,
} from "../support/copied-stage.ts";
import type { TestServer } from "../support/server.ts";

/** Each test starts several servers and commands, on a machine that may be busy. */
setDefaultTimeout(120_000);

const databaseOf = (dataDir: string) => join(dataDir, "parley.db");
const decide = (dataDir: string, ...args: string[]) =>
  runJson<{ webhooks: number; events: number; is_over: boolean }>(dataDir, ["deliveries", ...args, "--yes"]);

/** What the server said at its start about a hold; undefined when it said nothing. */
async function holdOf(server: TestServer): Promise<{ kind: string; reason: string } | undefined> {
  await server.logLine(({ msg }) => msg === "server.started");
  const lines = server
    .logLines()
    .map((line) => JSON.parse(line) as { msg: string; kind: string; reason: string });
  return lines.find(({ msg }) => msg === "deliveries.held");
}

/** How people set a workspace back or copy it, what the server says then, and the folder that is served. */
const ways: ReadonlyArray<[string, RegExp, (stage: CopiedStage) => string | Promise<string>]> = [
  [
    "by cp over the newer database",
    /^older_copy .* knows of 4 attempts, and 10 were made here/,
    ({ live, copy }) => {
      removeLog(live);
      cpSync(databaseOf(copy), databaseOf(live));
      return live;
    },
  ],
  [
    "by mv over the newer database",
    /^older_copy .* knows of 4 attempts/,
    ({ live, copy }) => {
      removeLog(live);
      renameSync(databaseOf(copy), databaseOf(live));
      return live;
    },
  ],
  [
    "by parley restore",
    /^older_copy .* knows of 4 attempts/,
    async ({ live, copy, path }) => {
      const file = path("backup");
      await runJson(copy, ["backup", file, "--without-key"]);
      await runJson(live, ["restore", file, "--without-key", "--yes"]);
      return live;
    },
  ],
  [
    "by a copied folder in the place of the newer one",
    /^foreign_copy .* was copied/,
    ({ live, copy }) => {
      rmSync(live, { recursive: true });
      copyFolder(copy, live);
      return live;
    },
  ],
  [
    "by a copied folder over the newer one",
    /^older_copy .* knows of 4 attempts/,
    ({ live, copy }) => {
      removeLog(live);
      copyFolder(copy, live);
      return live;
    },
  ],
  ["by serving a copy of the folder", /^foreign_copy .* was copied/, ({ copy }) => copy],
  [
    "into an empty folder",
    /^foreign_copy .* marker is missing/,
    (stage) => {
      const dataDir = stage.path("new");
      mkdirSync(dataDir);
      for (const name of ["parley.db", "secret.key"]) cpSync(join(stage.copy, name), join(dataDir, name));
      return dataDir;
    },
  ],
];

describe.each(ways)("after a restore %s", (_, said, restore) => {
  test("nothing is sent until released, and what is listed is what was delivered since", async () => {
    await using stage = await startCopiedStage();
    const dataDir = await restore(stage);
    const server = await stage.serve(dataDir);
    const { kind, reason } = (await holdOf(server)) ?? {};
    expect(`${kind} ${reason}`).toMatch(said);

    await stage.post(server, "later");
    const { hold, webhooks } = await stage.held(dataDir);
    expect(`${hold?.kind} ${hold?.reason}`).toMatch(said);
    expect(webhooks.map(({ name, status, events }) => ({ name, status, events }))).toEqual([
      { name: "Main", status: "active", events: 3 },
      { name: "Witness", status: "active", events: 3 },
    ]);
    expect(await stage.heldFor(dataDir, "Main")).toEqual(stage.sentSince);
    expect(await runJson<{ hold: unknown }>(dataDir, ["status"])).toMatchObject({ hold });
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);

    // Whatever else could send to Main would have done so by the time at which the other one has everything.
    expect(await decide(dataDir, "release", "--webhook", "Witness")).toMatchObject({
      events: 3,
      is_over: false,
    });
    await stage.witness.received(9);
    expect(stage.main.requests).toHaveLength(5);

    expect(await decide(dataDir, "release")).toMatchObject({ webhooks: 1, events: 3, is_over: true });
    await stage.main.received(9);
    expect(stage.texts(stage.main).slice(5).toSorted()).toEqual(["fifth", "fourth", "later", "third"]);
    expect(stage.ids(stage.main).slice(5)).toEqual(expect.arrayContaining(stage.sentSince));
    expect(await stage.held(dataDir)).toEqual({ hold: null, webhooks: [] });
  });
});

test("what is discarded is never sent, what came after it is, and the decision outlives restarts", async () => {
  await using stage = await startCopiedStage();
  removeLog(stage.live);
  cpSync(databaseOf(stage.copy), databaseOf(stage.live));
  const server = await stage.serve(stage.live);
  await stage.post(server, "later");
  // The hold is not forgotten either.
  await server.stop();
  const again = await stage.serve(stage.live);
  expect((await holdOf(again))?.kind).toBe("older_copy");

  const shown = (await run(stage.live, ["status"])).stdout;
  expect(shown).toMatch(/^deliveries +held since /m);
  // Being due means nothing meanwhile.
  expect(shown).not.toMatch(/next in|the first was due/);

  const { status, message } = await runRefused(stage.live, ["deliveries", "discard"]);
  expect({ status, message }).toEqual({
    status: 2,
    message: "Drop 6 events for 2 subscriptions? Without a terminal, confirm with --yes.",
  });
  expect(await decide(stage.live, "discard")).toMatchObject({ webhooks: 2, events: 6, is_over: true });
  await stage.main.received(6);
  await again.stop();

  const last = await stage.serve(stage.live);
  await stage.post(last, "last");
  await stage.main.received(7);
  expect(stage.texts(stage.main).slice(5)).toEqual(["later", "last"]);
  expect(await holdOf(last)).toBeUndefined();
  const refused = await runRefused(stage.live, ["deliveries", "release"]);
  expect(refused).toEqual({
    status: 1,
    message: "Deliveries are not held, so there is nothing to decide.",
  });

  const actions = (await runJson<AuditEntry[]>(stage.live, ["audit", "list"])).map(({ action }) => action);
  expect(actions.filter((action) => /held|discarded/.test(action))).toEqual([
    "deliveries.discarded",
    "webhook.held_discarded",
    "webhook.held_discarded",
  ]);
});

test("a decision while no server runs holds for the next one, which a second restore does not escape", async () => {
  await using stage = await startCopiedStage();
  removeLog(stage.live);
  cpSync(databaseOf(stage.copy), databaseOf(stage.live));
  await (await stage.serve(stage.live)).stop();
  await decide(stage.live, "release");
  const server = await stage.serve(stage.live);
  expect(await holdOf(server)).toBeUndefined();
  await stage.main.received(8);
  await server.stop();

  removeLog(stage.live);
  cpSync(databaseOf(stage.copy), databaseOf(stage.live));
  expect((await holdOf(await stage.serve(stage.live)))?.reason).toContain("belongs to another copy");
});

describe("the marker of a folder that was not set back", () => {
  test("moves with the folder, follows crashes, and tells another machine and another host", async () => {
    await using stage = await startCopiedStage();
    const moved = stage.path("moved");
    renameSync(stage.live, moved);
    let server = await stage.serve(moved);
    expect(await holdOf(server)).toBeUndefined();
    await stage.post(server, "after the move");
    await stage.main.received(6);
    await server.kill9();

    // The same host under another port and scheme is the same place.
    for (const url of ["https://chat.example", "http://chat.example:8443"]) {
      server = await stage.serve(moved, { PARLEY_BASE_URL: url });
      expect(await holdOf(server), url).toBeUndefined();
      await server.stop();
    }
    server = await stage.serve(moved, { PARLEY_BASE_URL: "https://staging.example" });
    expect((await holdOf(server))?.reason).toContain("was chat.example and is staging.example");
    await server.stop();
    await decide(moved, "release");
    await (await stage.serve(moved, { PARLEY_BASE_URL: "https://staging.example" })).stop();

    const marker = markerOf(moved);
    const text = JSON.parse(readFileSync(marker, "utf8")) as { machine: string | null };
    writeFileSync(marker, JSON.stringify({ ...text, machine: text.machine && "0".repeat(32) }));
    server = await stage.serve(moved, { PARLEY_BASE_URL: "https://staging.example" });
    // A machine without an id of its own, such as a container, is never another one.
    expect((await holdOf(server))?.reason ?? "").toContain(text.machine ? "on another machine" : "");
  });

  test("is not missed by the first start of a version that keeps one, nor in a new workspace", async () => {
    await using stage = await startCopiedStage();
    rmSync(markerOf(stage.live));
    {
      using file = new SqliteFile(databaseOf(stage.live));
      for (const table of ["delivery_copy", "delivery_hold", "delivery_hold_exceptions"])
        file.run(`DROP TABLE ${table}`);
      file.run("DELETE FROM migrations WHERE name = '0012_delivery_hold'");
    }
    const server = await stage.serve(stage.live);
    expect(await holdOf(server)).toBeUndefined();
    await stage.post(server, "after the upgrade");
    await stage.main.received(6);
    await server.stop();

    const fresh = stage.path("fresh");
    await runJson(fresh, ["init", "--team", "Acme", "--owner", "Ada"]);
    expect(await holdOf(await stage.serve(fresh))).toBeUndefined();
    expect(markerOf(fresh)).toEndWith("/deliveries-0.marker");
  });

  test("is refused as a symbolic link, and treated as missing when it holds something else", async () => {
    await using stage = await startCopiedStage();
    const marker = markerOf(stage.live);
    renameSync(marker, stage.path("elsewhere"));
    symlinkSync(stage.path("elsewhere"), marker);
    const { status, stderr } = await run(stage.live, ["serve", "--port", "0"]);
    expect(status).toBe(1);
    expect(stderr).toContain(`${marker} is a symbolic link`);

    rmSync(marker);
    writeFileSync(marker, "garbage");
    const server = await stage.serve(stage.live);
    expect((await holdOf(server))?.reason).toContain("its marker cannot be read");
  });
});
