import {
  existsSync,
  lchownSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { Type, type Static } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { DomainError } from "../errors.ts";
import { flush } from "../system/on-disk.ts";

// A restore exchanges several files, which cannot be done at once. So it first stages the new ones in a folder in the
// data folder and then writes a plan. From that moment on it is decided: whoever opens the data folder next carries the
// plan out, from wherever it was broken off. Without the plan nothing has been changed.
const planName = "restore.plan";

/** Parts of the old database that must not stay next to the new one. */
const databaseParts = ["parley.db-wal", "parley.db-shm", "parley.db-journal"];

const Plan = Type.Object({
  /** The folder, in the data folder, with the new files. */
  staged: Type.String({ pattern: "^\\.restore-[0-9a-f-]+$" }),
  /** The folder, in the data folder, that takes what is replaced. */
  kept: Type.String({ pattern: "^before-restore-[0-9A-Za-z-]+$" }),
});
type Plan = Static<typeof Plan>;

/** The files that a restore replaces if they are staged; the database comes last, as the last sign of an open plan. */
const replacedFiles = ["secret.key", "parley.db"];

/** Whether a restore was broken off after it was decided. Takes a few microseconds. */
export function hasPendingRestore(dataDir: string): boolean {
  return existsSync(join(dataDir, planName));
}

/** Decides the restore and carries it out. Call this under the server's lock. */
export function exchangeFiles(dataDir: string, plan: Plan): void {
  const staged = join(dataDir, plan.staged);
  writeFileSync(join(staged, planName), `${JSON.stringify(plan)}\n`, { mode: 0o600 });
  flush(join(staged, planName));
  flush(staged);
  renameSync(join(staged, planName), join(dataDir, planName));
  flush(dataDir);
  finishPendingRestore(dataDir);
}

/**
 * Carries out the plan, or what is left of it. Call this under the server's lock.
 * @throws DomainError `data_damaged` for a plan that nothing of ours wrote.
 */
export function finishPendingRestore(dataDir: string): void {
  const planPath = join(dataDir, planName);
  const plan = readPlan(planPath);
  const [staged, kept] = [join(dataDir, plan.staged), join(dataDir, plan.kept)];
  if (existsSync(join(staged, "parley.db"))) {
    for (const name of databaseParts) keep(dataDir, name, kept);
    // The new key of a rotation goes with the key that it was to replace.
    if (existsSync(join(staged, "secret.key"))) keep(dataDir, "secret.key.new", kept);
    for (const name of replacedFiles) {
      if (!existsSync(join(staged, name))) continue;
      // If the old file is kept already, the one in its place is gone.
      if (!existsSync(join(kept, name))) keep(dataDir, name, kept);
      renameSync(join(staged, name), join(dataDir, name));
    }
  }
  if (existsSync(kept)) flush(kept);
  flush(dataDir);
  rmSync(staged, { recursive: true, force: true });
  rmSync(planPath);
  flush(dataDir);
}

function readPlan(path: string): Plan {
  try {
    const plan: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (Value.Check(Plan, plan)) return plan;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new DomainError(
    "data_damaged",
    `${path} is not the plan of a restore. Remove it, and restore the backup again.`,
  );
}

/** Moves the file, if there is one, into the folder for what is replaced. */
function keep(dataDir: string, name: string, kept: string): void {
  if (!existsSync(join(dataDir, name))) return;
  if (!existsSync(kept)) {
    mkdirSync(kept, { mode: 0o700 });
    giveToOwnerOf(dataDir, kept);
  }
  renameSync(join(dataDir, name), join(kept, name));
}

/**
 * As root, gives the file to the owner and the group of the folder, whose service would otherwise be locked out. Does
 * not follow a symbolic link: that owner could put one there to be given any file of the machine.
 */
export function giveToOwnerOf(folder: string, path: string): void {
  if (process.geteuid?.() !== 0) return;
  const { uid, gid } = statSync(folder);
  lchownSync(path, uid, gid);
}
