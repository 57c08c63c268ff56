import { Database } from "bun:sqlite";
import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { cpus, loadavg, release, totalmem, type } from "node:os";
import { join } from "node:path";
import { $ } from "bun";
import { outputOf } from "./child.ts";
import { parley } from "./parley.ts";
import { median } from "./rounds.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** The machine and the versions behind the figures, as a list in Markdown. */
export async function machineReport(): Promise<string> {
  using memory = new Database(":memory:");
  const sqlite = memory.query<{ version: string }, []>("SELECT sqlite_version() AS version").get();
  const wrk = await $`wrk -v`.nothrow().quiet().text();
  const commit = await $`git -C ${import.meta.dir} describe --always --dirty`.nothrow().quiet().text();
  const [busy = 0] = loadavg();
  return [
    `- ${new Date().toISOString().slice(0, 10)}, commit ${commit.trim() || "unknown"}`,
    `- ${cpus().length} × ${cpus()[0]?.model ?? "unknown processor"}, ${(totalmem() / 2 ** 30).toFixed(0)} GiB of memory`,
    `- ${type()} ${release()}; a flush of 4 KiB to disk takes ${flushMs().toFixed(2)} ms`,
    `- load average before the first run: ${busy.toFixed(2)}`,
    `- parley ${(await outputOf([parley, "--version"])).trim()}, Bun ${Bun.version}, SQLite ${sqlite?.version}, ${wrk.split(" ").slice(0, 2).join(" ")}`,
  ].join("\n");
}

/** The median time to write a page to the databases' disk and flush it, in milliseconds. */
function flushMs(): number {
  const file = openSync(join(temporaryFolder(), "page"), "w");
  const page = Buffer.alloc(4096, 1);
  const times = Array.from({ length: 200 }, () => {
    const startedAt = performance.now();
    writeSync(file, page);
    fdatasyncSync(file);
    return performance.now() - startedAt;
  });
  closeSync(file);
  return median(times);
}
