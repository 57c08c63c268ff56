import { openDatabase } from "../../src/database/open.ts";
import { insertTeam } from "../../src/teams/store.ts";

// A program of its own, because the test runner takes a fault that nobody catches for a failed test.
process.on("uncaughtException", (error) => console.log(`reported: ${error.message}`));

const database = openDatabase(Bun.argv.at(-1) ?? "");
database.onWork(() => {
  throw new Error("nobody to tell");
});
for (const name of ["one", "two"]) {
  await database.write(async (tx) => {
    if (name === "one") tx.woken.add("somebody");
    await insertTeam(tx, { id: name, name, slug: name, createdAt: 0 });
  });
  console.log(name);
}
await database.close();
