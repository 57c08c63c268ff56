import { until } from "../../test/support/conditions.ts";
import type { Benchmark, Figures, Scale } from "../benchmark.ts";
import { startParley } from "../parley.ts";
import { measurePosts, postRequest } from "../posts.ts";
import { countRows, fillAttempts } from "../tables.ts";
import { type Seeded, seedWorkspace } from "../workspace.ts";

export default {
  row: 15,
  title: "Post while retention deletes 1,000,000 old attempts",
  method:
    "Retention begins with the server and is at work for the whole of the run, which is checked. Beside it a server " +
    "with a log of the same size whose attempts are a day old and stay.",
  goals: [{ figure: "p99Ms", of: "while it deletes", against: "without", atMost: 2 }],
  async start(scale) {
    const [old, recent] = [await seedWorkspace(), await seedWorkspace()];
    return {
      "while it deletes": async () => {
        fillLog(old, scale, 60);
        const before = countRows(old.file, "attempts");
        return await postOnce(old, scale, async () => {
          const left = countRows(old.file, "attempts");
          if (scale.isJudged && (left === 0 || left === before))
            throw new Error(`retention left ${left} of ${before} attempts after the run`);
          const hasDeleted = () => countRows(old.file, "attempts") < before;
          await until("retention deletes", hasDeleted, { timeout_ms: 60_000 });
        });
      },
      without: async () => {
        fillLog(recent, scale, 1);
        return await postOnce(recent, scale);
      },
    };
  },
} satisfies Benchmark;

function fillLog(workspace: Seeded, scale: Scale, daysAgo: number): void {
  const missing = scale.of(1_000_000) - countRows(workspace.file, "attempts");
  fillAttempts(workspace, Bun.randomUUIDv7(), missing, daysAgo);
}

/** One run on a server of its own; `check` runs at its end, while the server still runs. */
async function postOnce(workspace: Seeded, scale: Scale, check = async () => {}): Promise<Figures> {
  await using parley = await startParley(workspace.dataDir);
  const figures = await measurePosts(parley, workspace.file, postRequest(parley, workspace), scale);
  await check();
  return figures;
}
