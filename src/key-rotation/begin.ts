import type { Database } from "../database/database.ts";
import { DomainError } from "../errors.ts";
import { forgetNewKey, keepAside, newKeyFile, randomKey, readKey, writeNewKey } from "../secrets/key-file.ts";
import { type Key, keyOf, type KeyRing } from "../secrets/key-ring.ts";
import { selectKeyCheck, selectKeyRotation, upsertKeyCheck, upsertKeyRotation } from "../secrets/store.ts";
import { wrongKey } from "../secrets/vault.ts";
import { now } from "../system/repeatable.ts";

export type RotationParts = {
  database: Database;
  dataDir: string;
  /** The key that the settings give; empty when it is in the key file. */
  fromSettings: string;
  /** The key to change to; undefined for a random one, which only the key file can take. */
  given: Buffer | undefined;
  actor: string;
};

/** A rotation that has begun. The values identify the keys. */
export type Rotation = { oldCheckValue: Buffer; newCheckValue: Buffer; resumed: boolean };

/**
 * Puts the new key on disk and has the database name it as the one to encrypt with, or takes up the rotation that was
 * interrupted. From then on every process encrypts new secrets with it.
 * @throws DomainError `key_missing` when there is no key, or none is the workspace's; `usage` when the settings give
 *   the key and `given` is missing; `invalid` when `given` is the key in use; `conflict` when an interrupted rotation
 *   changes to another key than `given`; `forbidden` when this login may not write the key's file.
 */
export async function beginRotation(parts: RotationParts, keys: KeyRing): Promise<Rotation> {
  const { database, actor } = parts;
  const { known, interrupted } = await database.ask(async (db) => ({
    known: await selectKeyCheck(db),
    interrupted: await selectKeyRotation(db),
  }));
  const { own } = keys;
  if (!own) throw noKey();
  const resumed = interrupted !== undefined && keys.withCheck(interrupted.newCheckValue) !== undefined;
  const values = resumed ? resume(interrupted, own, parts.given) : prepareNewKey(parts, own, known);
  await database.write(async (tx) => {
    await upsertKeyRotation(tx, { startedAt: now(), startedBy: actor, ...values });
    await upsertKeyCheck(tx, values.newCheckValue);
  });
  return { ...values, resumed };
}

function resume<Interrupted extends Omit<Rotation, "resumed">>(
  interrupted: Interrupted,
  own: Key,
  given: Buffer | undefined,
): Interrupted {
  const { oldCheckValue, newCheckValue } = interrupted;
  if (![oldCheckValue, newCheckValue].some((value) => value.equals(own.checkValue))) throw wrongKey();
  if (!given || keyOf(given).checkValue.equals(newCheckValue)) return interrupted;
  throw new DomainError(
    "conflict",
    "A rotation to another key was interrupted. Finish it first, without --new-key-file.",
  );
}

/** Returns the values of the old and the new key, which is on disk then. */
function prepareNewKey(
  { dataDir, fromSettings, given }: RotationParts,
  own: Key,
  known: Buffer | undefined,
): Omit<Rotation, "resumed"> {
  if (known && !known.equals(own.checkValue)) throw fromSettings === "" ? wrongKey() : settingsBehind();
  if (fromSettings !== "" && !given) throw newKeyNeeded();
  const found = readKey(newKeyFile(dataDir));
  // Left behind by a rotation that was interrupted before the database knew of its key, or already in use.
  const leftOver = found?.equals(own.bytes) ? undefined : found;
  const next = keyOf(given ?? leftOver ?? randomKey());
  if (next.checkValue.equals(own.checkValue)) {
    throw new DomainError("invalid", "That is the key in use. Make another one: openssl rand -base64 32");
  }
  if (found && !leftOver) forgetNewKey(dataDir);
  if (leftOver && !leftOver.equals(next.bytes)) keepAside(dataDir, leftOver);
  if (!leftOver?.equals(next.bytes)) writeNewKey(dataDir, next.bytes);
  return { oldCheckValue: own.checkValue, newCheckValue: next.checkValue };
}

function settingsBehind(): DomainError {
  return new DomainError(
    "key_missing",
    "PARLEY_SECRET_KEY does not hold the key of this workspace. If the last rotation has just finished, set it to the " +
      "new key and restart the server; then try again.",
  );
}

function newKeyNeeded(): DomainError {
  return new DomainError(
    "usage",
    "The key comes from PARLEY_SECRET_KEY, which a command cannot change. Make the new key, keep it where the setting " +
      "will get it from, and name its file: openssl rand -base64 32 > FILE && parley secrets rotate-key " +
      "--new-key-file FILE",
  );
}

function noKey(): DomainError {
  return new DomainError(
    "key_missing",
    "There is no key to rotate. Restore secret.key from a backup of the data folder, or set PARLEY_SECRET_KEY.",
  );
}
