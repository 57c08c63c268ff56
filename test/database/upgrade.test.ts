import { Database as SqliteFile } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { migrate } from "../../src/database/migrate.ts";
import { migrations } from "../../src/database/migrations.ts";
import { openDatabase } from "../../src/database/open.ts";
import { holdServerLock } from "../../src/database/server-lock.ts";
import { insertEvent, selectEvent } from "../../src/outbox/event-store.ts";
import { signedHashOf } from "../../src/incoming-webhooks/address-hash.ts";
import { selectJob } from "../../src/outbox/job-store.ts";
import { openDataFolder } from "../../src/data-folder.ts";
import { run, runJson } from "../support/cli.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const at = Date.UTC(2026, 10, 21, 12, 0, 0, 7);
const envelope = JSON.stringify({
  id: "event-7",
  type: "message.created",
  created_at: "2026-11-21T12:00:00.007+00:00",
  data: { body: 'Größe "10" \u2028 / 1.0e5', reactions: [], author: { name: "Ada" }, edited_at: null },
});

test("events and attempts from before sequence numbers are kept, byte for byte", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "parley.db");
  {
    using file = new SqliteFile(path, { create: true, strict: true });
    migrate(
      file,
      migrations.filter(({ name }) => name < "0005"),
    );
    file.run("INSERT INTO teams VALUES ('team', 'Acme', 'acme', 1)");
    file.run(`INSERT INTO users (id, team_id, type, name, role, created_at)
      VALUES ('ada', 'team', 'human', 'Ada', 'owner', 1)`);
    file.run(`INSERT INTO channels (id, team_id, name, slug, visibility, created_at)
      VALUES ('general', 'team', 'general', 'general', 'public', 1)`);
    const message = "INSERT INTO messages (id, channel_id, position, author_id, type, body, created_at)";
    for (const type of ["standard", "member_joined", "member_left", "poll"]) {
      file.run(`${message} SELECT ?1, 'general', 1 + count(*), 'ada', ?1, '', 1 FROM messages`, [type]);
    }
    file.run("INSERT INTO reactions VALUES ('standard', '👍', 'ada', 1)");
    const event =
      "INSERT INTO events (seq, id, type, envelope, created_at) VALUES (?, ?, 'message.created', ?, ?)";
    file.run(event, [7, "event-7", envelope, at]);
    file.run(event, [9, "event-9", envelope, at]);
    // The second should not exist, and must not keep the others from being used.
    for (const job of ["2, 5", "0, 6"]) {
      file.run(
        `INSERT INTO jobs (subscription_id, event_id, attempts, due_at) VALUES ('ci', 'event-7', ${job})`,
      );
    }
    const attempt = `INSERT INTO attempts (id, subscription_id, event_id, event_type, succeeded, is_replay, duration_ms, created_at)
      VALUES (?, 'ci', ?, 'message.created', 0, 0, 1, 1)`;
    for (const id of ["event-7", "event-9"]) file.run(attempt, [`of ${id}`, id]);
    file.run("DELETE FROM events WHERE seq = 9");
  }

  const database = openDatabase(path);
  const job = await database.ask((db) => selectJob(db, { subscriptionId: "ci", dueAt: 5, eventSeq: 7 }));
  expect(job).toMatchObject({ attempts: 2, eventId: "event-7", eventType: "message.created", envelope });
  expect(await database.ask((db) => selectEvent(db, 7))).toEqual({
    type: "message.created",
    envelope,
    traceparent: null,
  });
  const added = {
    id: "event-10",
    type: "message.created",
    data: "{}",
    createdAt: at,
    traceparent: null,
  } as const;
  expect(await database.write((tx) => insertEvent(tx, added))).toBe(10);
  await database.close();

  using file = new SqliteFile(path, { readonly: true });
  const all = (sql: string) => file.query(sql).values();
  expect(all("SELECT subscription_id, due_at, event_seq, attempts FROM jobs")).toEqual([["ci", 5, 7, 2]]);
  expect(all("SELECT id, event_seq FROM attempts ORDER BY seq")).toEqual([
    ["of event-7", 7],
    ["of event-9", null],
  ]);
  expect(all("SELECT type FROM messages ORDER BY position").flat()).toEqual([
    "standard",
    "member_joined",
    "member_left",
    "poll",
  ]);
  expect(all("PRAGMA integrity_check")).toEqual([["ok"]]);
  expect(all("PRAGMA foreign_key_check")).toEqual([]);
});

describe("a database of the days on which its migrations were still edited", () => {
  /** A file with the migrations before `name`, changed back to what they made at first. */
  function early(path: string, name: string, changes: string[]): void {
    using file = new SqliteFile(path, { create: true, strict: true });
    migrate(
      file,
      migrations.filter((migration) => migration.name < name && migration.name !== "0004_early_tables"),
    );
    for (const sql of changes) file.run(sql);
  }

  /** Opens the database, then compares its tables and indexes with those of a new one. */
  async function expectLikeNew(path: string): Promise<void> {
    using folder = temporaryFolder();
    const newPath = join(folder.path, "parley.db");
    await openDatabase(path).close();
    await openDatabase(newPath).close();
    const [opened, made] = [path, newPath].map((each) => {
      using file = new SqliteFile(each, { readonly: true });
      return file
        .query<{ name: string; sql: string }, []>(
          "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name",
        )
        .all()
        .map(({ name, sql }) => [name, sql.replace(/--.*|["\s]|IF NOT EXISTS/g, "").toLowerCase()]);
    });
    expect(opened).toEqual(made);
  }

  test("is given the key's check value and every index that came later", async () => {
    using folder = temporaryFolder();
    const path = join(folder.path, "parley.db");
    early(path, "0004", [
      "DROP TABLE secret_key",
      "DROP INDEX subscriptions_deleted",
      "DROP INDEX attempts_by_age",
      "DROP INDEX users_by_external_id",
      "CREATE INDEX users_by_external_id ON users (team_id, external_id) WHERE type = 'human' AND removed_at IS NULL",
      "DROP INDEX managed_channels_by_name",
      "CREATE INDEX managed_channels_by_name ON channels (team_id, name COLLATE NOCASE) WHERE is_managed = 1 AND is_archived = 0",
    ]);
    await expectLikeNew(path);
  });

  test("keeps of its events what goes on being kept, to the byte", async () => {
    using folder = temporaryFolder();
    const path = join(folder.path, "parley.db");
    const event =
      "INSERT INTO events (seq, id, type, envelope, created_at) VALUES (7, 'event-7', 'message.created', ?, ?)";
    early(path, "0006", [
      "CREATE INDEX jobs_by_event ON jobs (event_seq)",
      "ALTER TABLE events RENAME COLUMN data TO envelope",
    ]);
    {
      using file = new SqliteFile(path, { strict: true });
      file.run(event, [envelope, at]);
    }
    await expectLikeNew(path);
    const database = openDatabase(path);
    expect(await database.ask((db) => selectEvent(db, 7))).toEqual({
      type: "message.created",
      envelope,
      traceparent: null,
    });
    await database.close();
  });
});

test("tables do not change under an older server: a newer version asks to stop it first", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "parley.db");
  using file = new SqliteFile(path, { create: true, strict: true });
  migrate(file, migrations.slice(0, 4));
  const applied = () => file.query("SELECT count(*) FROM migrations").values();
  {
    using _server = holdServerLock(folder.path);
    expect(() => openDataFolder(folder.path)).toThrow(/is serving .* Stop it first/);
    expect(applied()).toEqual([[4]]);
  }
  await openDataFolder(folder.path).close();
  expect(applied()).toEqual([[migrations.length]]);
  using _server = holdServerLock(folder.path);
  await openDataFolder(folder.path).close();
}, 60_000);

test("the database itself rejects a message of an unknown type", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "parley.db");
  await openDatabase(path).close();
  using file = new SqliteFile(path);
  const insert = `INSERT INTO messages (id, channel_id, position, author_id, type, body, created_at)
    VALUES ('m', 'c', 1, 'a', ?, '', 1)`;
  expect(() => file.run(insert, ["announcement"])).toThrow("CHECK constraint failed");
  expect(() => file.run(insert, ["standard"])).not.toThrow();
});

test("events wait for a subscription that was disabled before disabling kept them", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "parley.db");
  {
    using file = new SqliteFile(path, { create: true, strict: true });
    migrate(
      file,
      migrations.filter(({ name }) => name < "0006"),
    );
    const insert = `INSERT INTO subscriptions (id, team_id, name, url, events, channel_ids, status, secret, deleted_at, created_at)
      VALUES (?, 'team', 'CI', 'https://ci.example/', 'message.created reaction.added', ?, ?, x'00', ?, 1)`;
    file.run(insert, ["everywhere", null, "disabled", null]);
    file.run(insert, ["somewhere", '["here","there"]', "disabled", null]);
    file.run(insert, ["deleted", null, "disabled", 1]);
  }
  await openDatabase(path).close();
  using file = new SqliteFile(path, { readonly: true });
  const filters = file
    .query("SELECT subscription_id, event_type, channel_id FROM subscription_filters")
    .values();
  expect(filters.map((filter) => filter.join(" ")).toSorted()).toEqual([
    "everywhere message.created ",
    "everywhere reaction.added ",
    "somewhere message.created here",
    "somewhere message.created there",
    "somewhere reaction.added here",
    "somewhere reaction.added there",
  ]);
});

test("signed incoming webhooks keep a hash of the hash, and no trace of the hash itself", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "parley.db");
  const hash = (digit: string) => digit.repeat(64);
  {
    using file = new SqliteFile(path, { create: true, strict: true });
    migrate(
      file,
      migrations.filter(({ name }) => name < "0010"),
    );
    file.run("PRAGMA foreign_keys = OFF");
    const insert = `INSERT INTO incoming_webhooks (id, team_id, bot_id, channel_id, name, token_hash, secret, revoked_at, created_at)
      VALUES (?1, 'team', ?1, 'channel', 'CI', ?2, ?3, ?4, 1)`;
    file.run(insert, ["signed", hash("a"), new Uint8Array(40), null]);
    file.run(insert, ["unsigned", hash("b"), null, null]);
    file.run(insert, ["revoked", hash("c"), new Uint8Array(40), 1]);
  }
  await openDatabase(path).close();
  using file = new SqliteFile(path);
  file.run("PRAGMA wal_checkpoint(TRUNCATE)");
  const byHash = file.query<{ id: string }, [string]>(
    "SELECT id FROM incoming_webhooks WHERE token_hash = ?",
  );
  const found = ["a", "b", "c"].map((digit) => byHash.get(signedHashOf(hash(digit)))?.id);
  expect(found).toEqual(["signed", undefined, "revoked"]);
  const written = readFileSync(path, "latin1");
  expect([hash("a"), hash("b"), hash("c")].map((text) => written.includes(text))).toEqual([
    false,
    true,
    false,
  ]);
});

test("creators of old subscriptions come from the audit log, as far as it goes back", async () => {
  using folder = temporaryFolder();
  {
    using file = new SqliteFile(join(folder.path, "parley.db"), { create: true, strict: true });
    migrate(
      file,
      migrations.filter(({ name }) => name < "0008"),
    );
    file.run("INSERT INTO teams VALUES ('team', 'Acme', 'acme', 1)");
    const person = `INSERT INTO users (id, team_id, type, name, role, created_at, updated_at)
      VALUES (?, 'team', ?, ?, ?, 1, 1)`;
    file.run(person, ["ada", "human", "Ada", "owner"]);
    file.run(person, ["builder", "bot", "Build Bot", null]);
    const subscription = `INSERT INTO subscriptions (id, team_id, name, url, events, status, secret, created_at)
      VALUES (?1, 'team', ?1, 'https://ci.example/', 'message.created', 'active', x'00', 1)`;
    const entry = "INSERT INTO audit_entries VALUES (?, 'team', 1, ?, ?, ?, '{}')";
    for (const [id, actor] of [
      ["of Ada", "human:ada"],
      ["of the bot", "bot:builder"],
      ["of an operator", "cli:root"],
      ["of nobody", undefined],
    ] as const) {
      file.run(subscription, [id]);
      if (actor) file.run(entry, [`made ${id}`, actor, "webhook.created", `webhook:${id}`]);
      file.run(entry, [`changed ${id}`, "cli:other", "webhook.disabled", `webhook:${id}`]);
    }
  }
  const listed = await runJson<Array<{ name: string; created_by: string }>>(folder.path, [
    "webhooks",
    "list",
  ]);
  expect(Object.fromEntries(listed.map(({ name, created_by }) => [name, created_by]))).toEqual({
    "of Ada": "human:ada",
    "of the bot": "bot:builder",
    "of an operator": "cli:root",
    "of nobody": "unknown",
  });
  const { stdout } = await run(folder.path, ["webhooks", "list"]);
  for (const name of ["Ada", "Build Bot", "cli:root", "unknown"]) {
    expect(stdout).toMatch(new RegExp(` ${name} +of `));
  }
});
