import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { record } from "../audit/audit.ts";
import type { Database } from "../database/database.ts";
import { connectionsOf } from "../database/postgres/open.ts";
import { lockFile } from "../database/server-lock.ts";
import { findServer } from "../database/server-note.ts";
import { DomainError } from "../errors.ts";
import {
  findKey,
  forgetNewKey,
  installNewKey,
  newKeyFile,
  oldKeyFile,
  removeUnfinishedKeys,
} from "../secrets/key-file.ts";
import { keyName, type KeyRing } from "../secrets/key-ring.ts";
import { deleteKeyRotation, selectKeyRotation } from "../secrets/store.ts";
import { Vault } from "../secrets/vault.ts";
import { selectNodes } from "../nodes/store.ts";
import { listTeams } from "../teams/teams.ts";
import { beginRotation, type Rotation, type RotationParts } from "./begin.ts";
import { resealAll } from "./reseal.ts";

/** What a rotation did. Keys go by names that tell nothing about them. */
export type RotationOutcome = {
  key: string;
  old_key: string;
  /** The file that keeps the old key, which older backups need; null when the settings had it. */
  old_key_file: string | null;
  /** The file with the new key that stays until the settings have it; null when the key is in the key file. */
  new_key_file: string | null;
  /** The number of secrets that are encrypted with the new key now. */
  secrets: number;
  /** The number of secrets that neither key can read. They were left as they are. */
  unreadable: number;
  /** Whether this finished a rotation that had been interrupted. */
  resumed: boolean;
  /** How many servers use the same database from data folders of their own. */
  other_servers: number;
};

/**
 * Encrypts every signing secret with a new key, in small writes, while servers and commands go on reading and adding
 * secrets. Interrupted at any moment, it leaves every secret readable, and the next call finishes it. First the new key
 * is on disk; then the database names it as the one to encrypt with; then the secrets follow; and only then does the
 * new key take the old one's place, which is kept under another name. A key in the settings cannot be replaced: the new
 * one stays in the data folder until the settings have it. Other servers of the same database need the new key first. `onProgress` is called after each write with the number of
 * secrets done so far.
 * @throws DomainError `conflict` while another rotation runs; `usage` when other servers use the database and no key is
 *   given; what `beginRotation` throws; `key_missing` when the old
 *   key of an interrupted rotation is gone, and some secrets still need it.
 */
export async function rotateKey(
  parts: RotationParts,
  onProgress: (secrets: number) => void,
): Promise<RotationOutcome> {
  const { database, dataDir, fromSettings } = parts;
  using _lock = lockFile(join(dataDir, "rotation.lock"), alreadyRotating);
  removeUnfinishedKeys(dataDir);
  const keys = findKey(dataDir, fromSettings);
  const others = await otherServers(database, dataDir);
  if (others > 0 && !parts.given && !(await database.ask(selectKeyRotation))) throw othersNeedIt(others);
  const rotation = await beginRotation(parts, keys);
  keys.refresh();
  const counts = await resealAll(database, new Vault(keys), onProgress);
  // A key file is replaced only after everything was encrypted anew; a setting may be changed too early.
  const isOldKeyGone = fromSettings !== "" && !keys.withCheck(rotation.oldCheckValue);
  if (counts.unreadable > 0 && isOldKeyGone) throw oldKeyGone(rotation, counts.unreadable);
  if (fromSettings === "") installNewKey(dataDir);
  await finish(parts, rotation);
  if (fromSettings !== "") await forgetKeyOfSettings(database, dataDir, keys);
  const [oldFile, newFile] = [oldKeyFile(dataDir, rotation.oldCheckValue), newKeyFile(dataDir)];
  return {
    key: keyName(rotation.newCheckValue),
    old_key: keyName(rotation.oldCheckValue),
    old_key_file: existsSync(oldFile) ? oldFile : null,
    new_key_file: existsSync(newFile) ? newFile : null,
    secrets: counts.readable,
    unreadable: counts.unreadable,
    resumed: rotation.resumed,
    other_servers: others,
  };
}

/** How many servers use the same database from other data folders. */
async function otherServers(database: Database, dataDir: string): Promise<number> {
  const connections = connectionsOf(database);
  if (!connections) return 0;
  const { note } = findServer(dataDir);
  const nodes = await selectNodes(connections);
  return nodes.filter(({ url, pid, hostName }) => {
    const isHere = url === note?.url && pid === note.pid && hostName === hostname();
    return !isHere;
  }).length;
}

/**
 * Removes the file of a finished rotation's new key if the key of the settings is that key, which has no other use for
 * the file.
 */
export async function forgetKeyOfSettings(database: Database, dataDir: string, keys: KeyRing): Promise<void> {
  if (!existsSync(newKeyFile(dataDir)) || keys.all.length > 1) return;
  if (!(await database.ask(selectKeyRotation))) forgetNewKey(dataDir);
}

async function finish({ database, actor }: RotationParts, rotation: Rotation): Promise<void> {
  const details = { key: keyName(rotation.newCheckValue), old_key: keyName(rotation.oldCheckValue) };
  await database.write(async (tx) => {
    await deleteKeyRotation(tx);
    for (const { id: teamId } of await listTeams(tx)) {
      await record(tx, {
        teamId,
        actor,
        action: "secrets.key_rotated",
        target: `key:${details.key}`,
        details,
      });
    }
  });
}

function othersNeedIt(others: number): DomainError {
  const servers = others === 1 ? "Another server uses" : `${others} other servers use`;
  return new DomainError(
    "usage",
    `${servers} this database and would miss the new key. Make it (openssl rand -base64 32 > new.key), copy it to ` +
      "secret.key.new in the data folder of each of them, with the owner and mode of secret.key, then: " +
      "parley secrets rotate-key --new-key-file new.key",
  );
}

function alreadyRotating(): DomainError {
  return new DomainError("conflict", "Another command is rotating the key of this workspace. Let it finish.");
}

function oldKeyGone({ oldCheckValue }: Rotation, unreadable: number): DomainError {
  return new DomainError(
    "key_missing",
    `${unreadable} signing secrets are still encrypted with the old key ${keyName(oldCheckValue)}, which is missing. ` +
      "Set PARLEY_SECRET_KEY to it, run this again, and change the setting only afterwards. If that key " +
      "is lost, rotate those secrets: parley webhooks rotate-secret, parley incoming-webhooks rotate-secret.",
  );
}
