import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readTables } from "./data.ts";
import { engine } from "./engine.ts";

/** Every file in the folder by its path in it, with the SHA-256 of its content: what a refused command leaves as it was. */
export function contentOf(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
  const files = names.filter((name) => lstatSync(join(folder, name)).isFile());
  return Object.fromEntries(
    files.map((name) => [
      name,
      createHash("sha256")
        .update(readFileSync(join(folder, name)))
        .digest("hex"),
    ]),
  );
}

/**
 * The content of every file in the folder, by its path in it, while a server uses the folder. The server renames and
 * removes files of its own, such as the marker of deliveries, so a folder that changes under the reader is read again.
 */
function readServedFolder(folder: string): Map<string, Buffer> {
  while (true) {
    try {
      const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
      const files = names.filter((name) => lstatSync(join(folder, name)).isFile());
      return new Map(files.map((name) => [name, readFileSync(join(folder, name))]));
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
    }
  }
}

/**
 * Everything that a server keeps in its data folder and its database, by the name of the place, while it may be running:
 * the files and, on PostgreSQL, what is in the tables.
 */
export async function readServedData(dataDir: string): Promise<Map<string, Buffer>> {
  const places = readServedFolder(dataDir);
  const database = engine === "sqlite" ? "parley.db-wal" : "table messages";
  if (engine === "postgres") {
    for (const [table, rows] of await readTables(dataDir)) {
      const values = rows.flatMap((row) => Object.values(row));
      const bytes = values.map((value) => (value instanceof Uint8Array ? value : Buffer.from(String(value))));
      places.set(`table ${table}`, Buffer.concat(bytes));
    }
  }
  if (!places.has(database))
    throw new Error(`There is no ${database} among ${[...places.keys()].join(", ")}.`);
  return places;
}
