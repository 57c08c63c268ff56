import type { Database as SqliteFile } from "bun:sqlite";

/**
 * Of an incoming webhook with a signing secret a hash of the hash of its token is stored from now on, so that it goes on
 * asking for signatures when somebody takes its secret away. In code, because SQLite has no SHA-256.
 */
export function hashSignedAddresses(file: SqliteFile): void {
  // The hashes of before are what nobody should find in the pages that they leave.
  const { secure_delete } = file.query<{ secure_delete: number }, []>("PRAGMA secure_delete").get() ?? {
    secure_delete: 0,
  };
  file.run("PRAGMA secure_delete = ON");
  const rows = file
    .query<{ id: string; token_hash: string }, []>(
      "SELECT id, token_hash FROM incoming_webhooks WHERE secret IS NOT NULL",
    )
    .all();
  const update = file.query("UPDATE incoming_webhooks SET token_hash = ? WHERE id = ?");
  for (const { id, token_hash } of rows) {
    update.run(`signed:${Bun.SHA256.hash(`signed:${token_hash}`, "hex")}`, id);
  }
  file.run(`PRAGMA secure_delete = ${secure_delete}`);
}
