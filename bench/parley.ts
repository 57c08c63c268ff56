import { copyFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Figures } from "./benchmark.ts";
import { type Child, outputOf, startChild } from "./child.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** The compiled program: a copy for this run, so that no other build can replace it meanwhile. */
export const parley = join(temporaryFolder(), "parley");

export async function buildParley(): Promise<void> {
  const root = join(import.meta.dir, "..");
  await outputOf(["bun", "run", "--cwd", root, "build"]);
  copyFileSync(join(root, "dist", "parley"), parley);
}

/** The only settings that differ from the defaults: rate limits would end each run, and the receivers are private. */
const environment = {
  INTEGRATIONS_API_RATE_LIMIT: "1000000000",
  INTEGRATIONS_INGEST_RATE_LIMIT: "1000000000",
  WEBHOOKS_BLOCK_PRIVATE_URLS: "false",
};

export type Parley = Child & {
  url: string;
  /** The current memory, open files and size of the write-ahead log. */
  footprint(): Figures;
};

/** Starts the compiled server on the data folder, with its log in a file there. */
export async function startParley(dataDir: string, settings: Record<string, string> = {}): Promise<Parley> {
  const command = [parley, "serve", "--port", "0", "--data-dir", dataDir, "--json"];
  const logFile = join(dataDir, "parley.log");
  const child = await startChild(command, { env: { ...environment, ...settings }, logFile });
  const { data } = JSON.parse(child.firstLine) as { data: { url: string } };
  return {
    ...child,
    // By address, so that no name look-up is measured.
    url: data.url.replace("localhost", "127.0.0.1"),
    footprint: () => ({
      rssMb: child.rssMb(),
      openFiles: child.openFiles(),
      walMb: statSync(join(dataDir, "parley.db-wal")).size / 1024 / 1024,
    }),
  };
}
