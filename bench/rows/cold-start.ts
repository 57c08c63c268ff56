import { statSync } from "node:fs";
import { $ } from "bun";
import type { Benchmark } from "../benchmark.ts";
import { outputOf } from "../child.ts";
import { parley, startParley } from "../parley.ts";
import { figuresOf } from "../spans.ts";
import { fillMessages } from "../tables.ts";
import { seedWorkspace } from "../workspace.ts";

/** Starts per round. */
const starts = 5;

export default {
  row: 13,
  title: "Start on a database of 1 GB, from cold",
  method:
    "From starting the process to its first 200. The database, 3,000,000 messages, is put out of the page cache before " +
    "each start; the program itself is in it on both sides.",
  goals: [{ figure: "p50Ms", of: "to the first 200", against: "parley --version", atMost: 3 }],
  async start(scale) {
    const workspace = await seedWorkspace();
    fillMessages(workspace, workspace.channel, scale.of(3_000_000));
    const bytes = statSync(workspace.file).size;
    if (bytes < scale.of(1_000_000_000)) throw new Error(`the database has ${bytes} bytes only`);
    return {
      "to the first 200": async () => {
        const spansMs: number[] = [];
        for (let i = 0; i < starts; i++) {
          await forget(workspace.file);
          const startedAt = performance.now();
          await using server = await startParley(workspace.dataDir);
          const { status } = await fetch(`${server.url}/healthz`);
          spansMs.push(performance.now() - startedAt);
          if (status !== 200) throw new Error(`the first answer was ${status}`);
          await server.stop();
        }
        return figuresOf(spansMs);
      },
      "parley --version": async () => {
        const spansMs: number[] = [];
        for (let i = 0; i < starts; i++) {
          const startedAt = performance.now();
          await outputOf([parley, "--version"]);
          spansMs.push(performance.now() - startedAt);
        }
        return figuresOf(spansMs);
      },
    };
  },
} satisfies Benchmark;

/** Drops the file from the page cache, after a flush, since dirty pages cannot be dropped. */
async function forget(file: string): Promise<void> {
  await $`sync ${file} && dd if=${file} iflag=nocache count=0 status=none`.quiet();
}
