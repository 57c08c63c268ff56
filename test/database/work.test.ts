import { describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { join } from "node:path";
import { until } from "../support/conditions.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { addTeam, open, teamsOnDisk } from "./store.ts";

describe("a listener for work", () => {
  test("is called when the work is on disk, and not when its commit fails", async () => {
    await using store = open();
    const { database, path } = store;
    const calls: Array<{ ids: string[]; onDisk: string[] }> = [];
    database.onWork((ids) => calls.push({ ids: [...ids].sort(), onDisk: teamsOnDisk(path) }));

    const failing = database.write(async (tx) => {
      tx.commit.subscriptionsWithWork.add("never");
      tx.run(sql`PRAGMA defer_foreign_keys = ON`);
      tx.run(
        sql`INSERT INTO channel_members (channel_id, user_id, joined_at) VALUES ('nowhere', 'nobody', 0)`,
      );
    });
    await failing.catch(() => {});
    await Promise.all(
      ["one", "two"].map((name) =>
        database.write(async (tx) => {
          tx.commit.subscriptionsWithWork.add(`for ${name}`);
          await addTeam(tx, name);
        }),
      ),
    );
    await database.write((tx) => addTeam(tx, "without work"));
    // A commit's listeners are called before the next commit.
    await database.write((tx) => addTeam(tx, "next"));
    expect(calls).toEqual([{ ids: ["for one", "for two"], onDisk: ["one", "two"] }]);
  });

  test("is called after the caller of the change has its result", async () => {
    await using store = open();
    const { database } = store;
    const order: string[] = [];
    database.onWork(() => void order.push("told"));
    const answering = async () => {
      await database.write(async (tx) => {
        tx.commit.subscriptionsWithWork.add("somebody");
        await addTeam(tx, "one");
      });
      // As many steps from the write as a response is.
      for (let step = 0; step < 20; step++) await Promise.resolve();
      order.push("answered");
    };
    await answering();
    await until("both have happened", () => order.length === 2);
    expect(order).toEqual(["answered", "told"]);
  });

  test("cannot block writes, however it fails", () => {
    using folder = temporaryFolder();
    const path = join(folder.path, "parley.db");
    const program = Bun.fileURLToPath(import.meta.resolve("./write-for-faulty-listener.ts"));
    const { stdout, exitCode } = Bun.spawnSync([process.execPath, program, path], { timeout: 10_000 });
    expect(stdout.toString().split("\n")).toEqual(["one", "reported: nobody to tell", "two", ""]);
    expect(exitCode).toBe(0);
    expect(teamsOnDisk(path)).toEqual(["one", "two"]);
  });
});
