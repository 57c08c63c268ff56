import type { Database } from "../database/database.ts";
import { connectionsOf } from "../database/postgres/open.ts";
import type { Log } from "../log/log.ts";
import { requireNoOthers, requireNoOthersYet } from "../nodes/key.ts";
import { findKey, installNewKey } from "../secrets/key-file.ts";
import type { KeyRing } from "../secrets/key-ring.ts";
import { selectKeyCheck, selectKeyRotation } from "../secrets/store.ts";
import { Vault } from "../secrets/vault.ts";
import { forgetKeyOfSettings } from "./rotate.ts";

type Parts = { database: Database; dataDir: string; log: Log };

/**
 * The vault of a server that starts. Its key becomes the workspace's if the workspace has another one, which is logged;
 * not so where other servers use that one. A key that was put next to the key file, and that the workspace was changed
 * to meanwhile on another server, takes the key file's place. `fromSettings` is the key of the settings, or empty.
 * @throws DomainError `key_missing` when other servers of the database have another key; what `findKey` throws.
 */
export async function openVault({ database, dataDir, log }: Parts, fromSettings: string): Promise<Vault> {
  const keys = findKey(dataDir, fromSettings);
  if (fromSettings !== "") await forgetKeyOfSettings(database, dataDir, keys);
  else if (await isKeyNextToIt(database, keys)) {
    installNewKey(dataDir);
    keys.refresh();
    log.info("secrets.key_installed");
  }
  const vault = new Vault(keys);
  const connections = connectionsOf(database);
  if (connections && !(await vault.hasKeyOf(database))) await requireNoOthers(connections, dataDir);
  if (await vault.adopt(database, connections && ((tx) => requireNoOthersYet(tx, dataDir)))) {
    log.error(
      { reason: "The server now encrypts its secrets with another key than before." },
      "secrets.key_changed",
    );
  }
  return vault;
}

/** Whether the workspace's key, when nobody is rotating it, is the one that lies next to the key file. */
async function isKeyNextToIt(database: Database, keys: KeyRing): Promise<boolean> {
  const { known, rotation } = await database.ask(async (db) => ({
    known: await selectKeyCheck(db),
    rotation: await selectKeyRotation(db),
  }));
  if (!known || rotation || !keys.own) return false;
  return !keys.own.checkValue.equals(known) && keys.withCheck(known) !== undefined;
}
