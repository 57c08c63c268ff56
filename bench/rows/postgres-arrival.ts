import { type Arrivals, postMessage, receiveArrivals, roundTripMs } from "../arrivals.ts";
import type { Benchmark, Figures } from "../benchmark.ts";
import { type Parley, startParley } from "../parley.ts";
import { seedOnPostgres, startNode } from "../postgres.ts";
import { figuresOf } from "../spans.ts";
import { type Seeded, seedWorkspace, subscribe } from "../workspace.ts";

export default {
  row: 23,
  title: "From a commit to its arrival at an idle receiver, on PostgreSQL",
  method:
    "One message at a time, as in row 7. The server that takes the message owns the subscription's deliveries.",
  goals: [{ figure: "p50Ms", of: "PostgreSQL", against: "SQLite", atMost: 3 }],
  async start({ seconds }, stack) {
    const arrivals = stack.use(receiveArrivals());
    const onPostgres = stack.use(await seedOnPostgres());
    const onSqlite = await seedWorkspace();
    await subscribe(onPostgres.workspace, arrivals.url("postgres"));
    await subscribe(onSqlite, arrivals.url("sqlite"));
    const node = stack.use(await startNode(onPostgres.workspace));
    const sqlite = stack.use(await startParley(onSqlite.dataDir));
    return {
      PostgreSQL: () => spansOf("postgres", node, onPostgres.workspace),
      SQLite: () => spansOf("sqlite", sqlite, onSqlite),
    };

    async function spansOf(
      name: Parameters<Arrivals["url"]>[0],
      parley: Parley,
      workspace: Seeded,
    ): Promise<Figures> {
      const tripMs = await roundTripMs(parley);
      const spansMs: number[] = [];
      const endsAt = performance.now() + seconds * 1000;
      while (performance.now() < endsAt) {
        const { id, answeredAt } = await postMessage(parley, workspace);
        spansMs.push((await arrivals.at(name, id)) - answeredAt + tripMs);
      }
      return figuresOf(spansMs);
    }
  },
} satisfies Benchmark;
