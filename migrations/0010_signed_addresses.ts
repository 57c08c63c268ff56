import type { Database as SqliteFile } from "bun:sqlite";

/**
 * Stores a hash of the token hash for incoming webhooks with a signing secret, so that they keep requiring signatures
 * even if somebody removes the secret from the database. Written in code because SQLite has no SHA-256.
 */
export function hashSignedAddresses(file: SqliteFile): void {
  // The old hashes must not remain readable in freed pages.
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
