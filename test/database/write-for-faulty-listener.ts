import { openDatabase } from "../../src/database/open.ts";
import { insertTeam } from "../../src/teams/store.ts";

// A separate program, because the test runner counts an uncaught error as a failed test.
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
