import { accessSync, constants, existsSync } from "node:fs";
import type { Database } from "../database/database.ts";
import { findKey, keyFile } from "../secrets/key-file.ts";
import type { KeyRing } from "../secrets/key-ring.ts";
import { selectKeyCheck } from "../secrets/store.ts";
import { Vault } from "../secrets/vault.ts";
import { explainDataError } from "../system/data-errors.ts";
import { findUnreadableSecrets } from "../unreadable-secrets.ts";
import { type Finding, failed, ok, type Patient, reasonOf, skipped } from "./finding.ts";

/** Checks that the key is there and opens every signing secret. */
export async function checkKey(
  { dataDir, config }: Patient,
  ask: Database["ask"] | undefined,
): Promise<Finding[]> {
  const check = "key";
  if (!config) return [skipped(check, "the settings have to be valid first")];
  const where = config.secretKey === "" ? keyFile(dataDir) : "PARLEY_SECRET_KEY";
  // In a folder that this login may not enter, every file seems to be missing.
  if (config.secretKey === "") accessSync(dataDir, constants.X_OK);
  if (config.secretKey === "" && !existsSync(where)) {
    return [
      failed(
        check,
        `There is no ${where}: no signing secret can be read or made.`,
        "Restore secret.key from a backup of the data folder, or set PARLEY_SECRET_KEY.",
      ),
    ];
  }
  let keys: KeyRing;
  try {
    keys = findKey(dataDir, config.secretKey);
  } catch (error) {
    return [failed(check, reasonOf(explainDataError(error, dataDir)))];
  }
  if (!ask) return [ok(check, `${where} can be read`)];
  const vault = new Vault(keys);
  const { unreadable, shared } = await ask(async (db) => ({
    unreadable: await findUnreadableSecrets(db, vault),
    shared: db.engine === "postgres" ? await selectKeyCheck(db) : undefined,
  }));
  if (shared && !keys.withCheck(shared)) {
    return [
      failed(
        check,
        `${where} is not the key of the workspace.`,
        "Use the key that the other servers have: copy their secret.key, or PARLEY_SECRET_KEY.",
      ),
    ];
  }
  if (!unreadable) return [ok(check, `${where} opens every signing secret and header`)];
  const { subscriptions, incoming_webhooks, reason } = unreadable;
  return [
    failed(
      check,
      `Signing secrets or headers cannot be read: those of ${counted(subscriptions, "subscription")} and ${counted(incoming_webhooks, "incoming webhook")}. ${reason}`,
    ),
  ];
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
