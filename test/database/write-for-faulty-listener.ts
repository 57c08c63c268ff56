import { openDatabase } from "../../src/database/open.ts";
import { insertTeam } from "../../src/teams/store.ts";

// A program of its own, because the test runner takes a fault that nobody catches for a failed test.
process.on("uncaughtException", (error) => process.stdout.write(`reported: ${error.message}\n`));

const database = openDatabase(Bun.argv.at(-1) ?? "");
database.onWork(() => {
  throw new Error("nobody to tell");
});
for (const name of ["one", "two"]) {
  await database.write(async (tx) => {
    if (name === "one") tx.commit.subscriptionsWithWork.add("somebody");
    await insertTeam(tx, { id: name, name, slug: name, createdAt: 0 });
  });
  process.stdout.write(`${name}\n`);
}
await database.close();
