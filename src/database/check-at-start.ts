import { dataDamaged } from "../system/data-errors.ts";
import type { DatabaseFile } from "./database.ts";
import { findDamage } from "./integrity.ts";
import { requireHere } from "./move-state.ts";

/**
 * Checks once more what a server must not run on, now that it has the lock of the folder: the workspace may have been
 * moved while the server waited for it. Returns how long that took, in milliseconds.
 * @throws DomainError `data_damaged` when the database cannot be read; `not_found` when the workspace is elsewhere.
 */
export function checkDatabase({ reader }: DatabaseFile, dataDir: string): number {
  const startedAt = performance.now();
  const damage = findDamage(reader);
  if (damage !== undefined) throw dataDamaged(dataDir, damage);
  requireHere(reader, dataDir);
  return Math.round(performance.now() - startedAt);
}
