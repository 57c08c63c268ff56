import { Database } from "bun:sqlite";
import type { Benchmark, Figures, Scale } from "../benchmark.ts";
import { parley as program, startParley } from "../parley.ts";
import { measurePosts, postRequest } from "../posts.ts";
import { fillJobs } from "../tables.ts";
import { addChannel, type Seeded, seedWorkspace, subscribe } from "../workspace.ts";

export default {
  row: 18,
  title: "Post while a subscription with 1,000,000 waiting jobs is enabled, or deleted",
  method:
    "`parley webhooks enable` runs beside the server for the whole of the run: each job has failed once and is put in its " +
    "order before anything is sent. A subscription that was deleted leaves its jobs to retention, which begins with the server. " +
    "Both are checked to be at work until the end. Beside them, a server on as many jobs that nobody touches.",
  goals: [
    { figure: "p99Ms", of: "enabled", against: "untouched", atMost: 2 },
    { figure: "p99Ms", of: "deleted", against: "untouched", atMost: 2 },
  ],
  async start(scale) {
    const jobs = scale.of(1_000_000);
    const sides = { enabled: await prepare(), deleted: await prepare(), untouched: await prepare() };
    return {
      enabled: async () => {
        fill(sides.enabled, jobs);
        return await postBeside(sides.enabled, scale, "enable");
      },
      deleted: async () => {
        fill(sides.deleted, jobs);
        change(sides.deleted, "UPDATE subscriptions SET deleted_at = 1");
        return await postBeside(sides.deleted, scale);
      },
      untouched: async () => {
        fill(sides.untouched, jobs);
        return await postBeside(sides.untouched, scale);
      },
    };
  },
} satisfies Benchmark;

type Side = { workspace: Seeded; subscriptionId: string };

async function prepare(): Promise<Side> {
  const workspace = await seedWorkspace();
  const elsewhere = await addChannel(workspace, "elsewhere");
  const [subscriptionId = ""] = await subscribe(workspace, "http://127.0.0.1:9/", { channels: [elsewhere] });
  return { workspace, subscriptionId };
}

/** Resets the jobs for a run: failed once, due later, for a disabled subscription. */
function fill(side: Side, jobs: number): void {
  const { workspace, subscriptionId } = side;
  fillJobs(workspace, [subscriptionId], jobs - waiting(side));
  change(
    side,
    `UPDATE subscriptions SET status = 'disabled', disabled_at = 1, deleted_at = NULL;
     UPDATE jobs SET attempts = 1, due_at = (SELECT created_at FROM events WHERE seq = event_seq) + 86400000`,
  );
}

function change({ workspace }: Side, sql: string): void {
  using database = new Database(workspace.file);
  database.run("PRAGMA synchronous = OFF");
  database.run(sql);
}

function waiting({ workspace }: Side): number {
  using database = new Database(workspace.file, { readonly: true });
  return database.query<{ jobs: number }, []>("SELECT count(*) AS jobs FROM jobs").get()?.jobs ?? 0;
}

/** One run on a server of its own, next to `parley webhooks VERB` if there is a verb. */
async function postBeside(side: Side, scale: Scale, verb?: string): Promise<Figures> {
  const { workspace, subscriptionId } = side;
  await using parley = await startParley(workspace.dataDir);
  const before = waiting(side);
  const args = ["webhooks", verb ?? "", subscriptionId, "--data-dir", workspace.dataDir, "--json"];
  const command = verb === undefined ? undefined : Bun.spawn([program, ...args], { stdout: "ignore" });
  const figures = await measurePosts(parley, workspace.file, postRequest(parley, workspace), scale);
  if (scale.isJudged && command && command.exitCode !== null)
    throw new Error(`${verb} was over before the run`);
  command?.kill("SIGKILL");
  await command?.exited;
  const isDeleted = before !== waiting(side);
  if (scale.isJudged && isDeleted && waiting(side) === 0)
    throw new Error("all jobs were gone before the run was over");
  return figures;
}
