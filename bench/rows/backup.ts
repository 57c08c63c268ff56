import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Benchmark, Figures, Scale } from "../benchmark.ts";
import { outputOf } from "../child.ts";
import { parley, type Parley, startParley } from "../parley.ts";
import { measurePosts, postRequest } from "../posts.ts";
import { fillMessages } from "../tables.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { type Seeded, seedWorkspace } from "../workspace.ts";

/** About 0.5 GB. */
const messages = 1_100_000;

export default {
  row: 20,
  title: "Post while a database of 0.5 GB is backed up",
  method:
    "64 connections. `parley backup` begins with the load and is begun again when it is done, until the load is over; " +
    "its file is on the same disk. The log is the largest that the write-ahead log became, which cannot begin anew meanwhile.",
  goals: [{ figure: "p99Ms", of: "while it is backed up", against: "without", atMost: 2 }],
  async start(scale, stack) {
    const workspace = await seedWorkspace();
    fillMessages(workspace, workspace.channel, scale.of(messages));
    const server = stack.use(await startParley(workspace.dataDir));
    return {
      "while it is backed up": () => backedUp(server, workspace, scale),
      without: () => post(server, workspace, scale),
    };
  },
} satisfies Benchmark;

async function post(server: Parley, workspace: Seeded, scale: Scale): Promise<Figures> {
  return await measurePosts(server, workspace.file, postRequest(server, workspace), scale);
}

async function backedUp(server: Parley, workspace: Seeded, scale: Scale): Promise<Figures> {
  let isOver = false;
  const posting = post(server, workspace, scale).finally(() => (isOver = true));
  const file = join(temporaryFolder(), "backup.tar");
  let walMb = 0;
  const watching = setInterval(() => (walMb = Math.max(walMb, server.footprint().walMb ?? 0)), 50);
  do {
    await outputOf([parley, "backup", file, "--without-key", "--yes", "--data-dir", workspace.dataDir]);
    rmSync(file);
  } while (!isOver);
  clearInterval(watching);
  return { ...(await posting), walMb };
}
