import { Database as SqliteFile } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { selectTeams } from "../../src/teams/store.ts";
import { addUser } from "../../src/users/users.ts";
import { addTeam, open, teamsOnDisk } from "./store.ts";

function outcomes(results: PromiseSettledResult<unknown>[]): string[] {
  return results.map(({ status }) => status);
}

describe("a write", () => {
  test("is on disk, for every process to see, when its promise resolves to what it returned", async () => {
    await using store = open();
    expect(await store.database.write((tx) => addTeam(tx, "acme"))).toBe("acme");
    expect(teamsOnDisk(store.path)).toEqual(["acme"]);
  });

  test("that throws is rolled back completely, and its promise rejects with the error", async () => {
    await using store = open();
    const fault = new Error("on second thought");
    const write = store.database.write(async (tx) => {
      await addTeam(tx, "acme");
      throw fault;
    });
    expect(await write.catch((error: unknown) => error)).toBe(fault);
    expect(teamsOnDisk(store.path)).toEqual([]);
  });

  test("that violates a constraint leaves nothing behind, and the next one works", async () => {
    await using store = open();
    const orphan = store.database.write(async (tx) => {
      await addTeam(tx, "acme");
      await addUser(tx, { teamId: "nowhere", type: "bot", name: "Bot", role: null, email: null });
    });
    expect(String(await orphan.catch((error: unknown) => error))).toContain("FOREIGN KEY");
    await store.database.write((tx) => addTeam(tx, "next"));
    expect(teamsOnDisk(store.path)).toEqual(["next"]);
  });

  test("sees its own changes, and readers do not see them before the commit", async () => {
    await using store = open();
    const { database } = store;
    const seen = await database.write(async (tx) => {
      await addTeam(tx, "acme");
      return {
        inside: (await selectTeams(tx)).length,
        outside: (await database.ask(selectTeams)).length,
        elsewhere: teamsOnDisk(store.path).length,
      };
    });
    expect(seen).toEqual({ inside: 1, outside: 0, elsewhere: 0 });
    expect(await database.ask(selectTeams)).toHaveLength(1);
  });
});

describe("concurrent writes", () => {
  test("run one after another in the order of the calls, and each sees those before it", async () => {
    await using store = open();
    const { database } = store;
    const names = Array.from({ length: 1_500 }, (_, index) => `team-${index}`);
    const before = await Promise.all(
      names.map((name) =>
        database.write(async (tx) => {
          const [row] = tx.all<{ count: number }>(sql`SELECT count(*) AS count FROM teams`);
          await addTeam(tx, name);
          return row?.count;
        }),
      ),
    );
    expect(before).toEqual(names.map((_, index) => index));
    expect(teamsOnDisk(store.path)).toEqual(names);
  });

  test("share one commit: none is on disk until all have run", async () => {
    await using store = open();
    const { database, path } = store;
    const seen = await Promise.all(
      ["one", "two", "three"].map((name) =>
        database.write(async (tx) => {
          await addTeam(tx, name);
          return teamsOnDisk(path).length;
        }),
      ),
    );
    expect(seen).toEqual([0, 0, 0]);
    expect(teamsOnDisk(path)).toEqual(["one", "two", "three"]);
  });

  test("fail alone: the writes before and after one that throws are kept", async () => {
    await using store = open();
    const { database } = store;
    const results = await Promise.allSettled(
      [1, 2, 3, 4, 5, 6].map((number) =>
        database.write(async (tx) => {
          await addTeam(tx, `team-${number}`);
          if (number % 2 === 0) throw new Error("even");
        }),
      ),
    );
    expect(outcomes(results)).toEqual([
      "fulfilled",
      "rejected",
      "fulfilled",
      "rejected",
      "fulfilled",
      "rejected",
    ]);
    expect(teamsOnDisk(store.path)).toEqual(["team-1", "team-3", "team-5"]);
  });

  test("fail together when their commit fails, and the next ones work", async () => {
    await using store = open();
    const { database } = store;
    const results = await Promise.allSettled([
      database.write((tx) => addTeam(tx, "before")),
      database.write(async (tx) => {
        // Deferred until the commit, a broken reference makes the commit itself fail.
        tx.run(sql`PRAGMA defer_foreign_keys = ON`);
        tx.run(sql`INSERT INTO channels (id, team_id, name, slug, visibility, created_at)
          VALUES ('c', 'nowhere', 'c', 'c', 'public', 0)`);
      }),
      database.write((tx) => addTeam(tx, "after")),
    ]);
    expect(outcomes(results)).toEqual(["rejected", "rejected", "rejected"]);
    expect(teamsOnDisk(store.path)).toEqual([]);

    await database.write((tx) => addTeam(tx, "next"));
    expect(teamsOnDisk(store.path)).toEqual(["next"]);
  });

  test("are on disk if and only if they resolved, when the disk is full", async () => {
    await using store = open();
    const { database } = store;
    await database.write(async (tx) => {
      const [pages] = tx.all<{ page_count: number }>(sql`PRAGMA page_count`);
      tx.run(sql.raw(`PRAGMA max_page_count = ${(pages?.page_count ?? 0) + 20}`));
    });
    const names = Array.from({ length: 60 }, (_, index) => `team-${index}-${"x".repeat(2_000)}`);
    const results = await Promise.allSettled(names.map((name) => database.write((tx) => addTeam(tx, name))));
    const kept = names.filter((_, index) => results[index]?.status === "fulfilled");
    expect(outcomes(results)).toContain("rejected");
    expect(teamsOnDisk(store.path)).toEqual(kept);

    await database.write(async (tx) => tx.run(sql`PRAGMA max_page_count = 100000`));
    await database.write((tx) => addTeam(tx, "next"));
    expect(teamsOnDisk(store.path)).toEqual([...kept, "next"]);
  });
});

describe("the file", () => {
  test("is closed only after the writes in flight", async () => {
    await using store = open();
    const writes = ["one", "two"].map((name) => store.database.write((tx) => addTeam(tx, name)));
    await store.database.close();
    expect(teamsOnDisk(store.path)).toEqual(["one", "two"]);
    await Promise.all(writes);
  });

  test("changes its data version with every commit of this process or another, and only then", async () => {
    await using store = open();
    const { database } = store;
    const before = database.file.dataVersion();
    await database.ask(selectTeams);
    expect(database.file.dataVersion()).toBe(before);

    await database.write((tx) => addTeam(tx, "own"));
    const between = database.file.dataVersion();
    expect(between).not.toBe(before);

    using other = new SqliteFile(store.path);
    other.run("INSERT INTO teams (id, name, slug, created_at) VALUES ('other', 'other', 'other', 0)");
    expect(database.file.dataVersion()).not.toBe(between);
  });

  test("fails with busy while another process holds it, and works afterwards", async () => {
    await using store = open({ lockWaitMs: 50 });
    const { database, path } = store;
    using other = new SqliteFile(path);

    other.run("BEGIN IMMEDIATE");
    const results = await Promise.allSettled(
      ["one", "two"].map((name) => database.write((tx) => addTeam(tx, name))),
    );
    expect(results.map((result) => result.status === "rejected" && result.reason)).toEqual([
      expect.objectContaining({ code: "busy" }),
      expect.objectContaining({ code: "busy" }),
    ]);
    other.run("COMMIT");
    await database.write((tx) => addTeam(tx, "three"));
    expect(teamsOnDisk(path)).toEqual(["three"]);
  });

  test("waits for another process without blocking the event loop", async () => {
    await using store = open();
    const { database, path } = store;
    using other = new SqliteFile(path);
    other.run("BEGIN IMMEDIATE");
    let isWritten = false;
    const written = database.write((tx) => addTeam(tx, "one")).then(() => (isWritten = true));
    // The event loop keeps running while the write waits, and committed data can be read.
    for (let turn = 0; turn < 20; turn++) await Bun.sleep(1);
    expect(await database.ask(selectTeams)).toEqual([]);
    expect(isWritten).toBe(false);
    other.run("COMMIT");
    await written;
    expect(teamsOnDisk(path)).toEqual(["one"]);
  });

  test("commits with full synchronization: a confirmed change survives a power cut", async () => {
    await using store = open();
    const [setting] = await store.database.write(async (tx) =>
      tx.all<{ synchronous: number }>(sql`PRAGMA synchronous`),
    );
    expect(setting).toEqual({ synchronous: 2 });
  });
});
