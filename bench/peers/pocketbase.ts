import { join } from "node:path";
import { type Child, outputOf, startChild } from "../child.ts";
import { temporaryFolder } from "../temporary-folder.ts";

/** NORMAL is PocketBase as it ships; FULL flushes each commit to disk before the response. */
export type Synchronous = "NORMAL" | "FULL";

export type PocketBase = Child & {
  /** The database file, with the table `messages`. */
  file: string;
  url: string;
  channel: string;
  /** The id of the user whose token it is. */
  author: string;
  token: string;
  about: About;
};

/** Versions and settings, as the running program reports them. */
export type About = {
  version: string;
  go: string;
  sqlite: string;
  synchronous: Synchronous;
  /** Whether the rate limiter is on. */
  isLimited: boolean;
  /** How long the log of requests is kept. */
  logDays: number;
};

const binary = join(temporaryFolder(), "pocketbase");

/** Builds PocketBase without cgo, as its releases are built. */
export async function buildPocketBase(): Promise<void> {
  // Go finds its caches and its proxy through the environment.
  const environment = { ...process.env, CGO_ENABLED: "0" } as Record<string, string>;
  await outputOf(["go", "build", "-C", join(import.meta.dir, "pocketbase"), "-o", binary, "."], environment);
}

/**
 * Starts PocketBase on a new folder with a channel of this many messages; a file in the folder takes its errors.
 * @throws when it runs with another `synchronous`.
 */
export async function startPocketBase(synchronous: Synchronous, messages: number): Promise<PocketBase> {
  const folder = temporaryFolder();
  const env = { SYNCHRONOUS: synchronous, MESSAGES: `${messages}` };
  const logFile = join(folder, "pocketbase.log");
  const child = await startChild([binary, "serve", "--dir", folder], { env, logFile });
  const started = JSON.parse(child.firstLine) as Omit<PocketBase, "file" | keyof Child>;
  const { about } = started;
  if (about.synchronous !== synchronous)
    throw new Error(`PocketBase runs with synchronous=${about.synchronous} instead of ${synchronous}.`);
  return { ...child, ...started, file: join(folder, "data.db") };
}

/** Starts PocketBase as it ships and returns its versions and settings. */
export async function aboutPocketBase(): Promise<About> {
  await using pocketBase = await startPocketBase("NORMAL", 0);
  return pocketBase.about;
}
