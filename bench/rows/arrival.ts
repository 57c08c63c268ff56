import { postMessage, receiveArrivals, roundTripMs } from "../arrivals.ts";
import type { Benchmark } from "../benchmark.ts";
import { postPinned } from "../floor.ts";
import { startParley } from "../parley.ts";
import { figuresOf } from "../spans.ts";
import { seedWorkspace, subscribe } from "../workspace.ts";

export default {
  row: 7,
  title: "From a commit to its arrival at an idle receiver",
  method:
    "One message at a time, the next after the last one has arrived. The commit is taken to lie before the 201 by the " +
    "whole of the fastest round trip to the same server, to be on the safe side. The bare POST is F3 to the same " +
    "receiver, one at a time, from before it is sent until its answer is read.",
  goals: [{ figure: "p50Ms", of: "commit to arrival", against: "bare POST", atMost: 2 }],
  async start(scale, stack) {
    const workspace = await seedWorkspace();
    const arrivals = stack.use(receiveArrivals());
    await subscribe(workspace, arrivals.url("idle"));
    const parley = stack.use(await startParley(workspace.dataDir));
    return {
      "commit to arrival": async () => {
        const tripMs = await roundTripMs(parley);
        const spansMs: number[] = [];
        const endsAt = performance.now() + scale.seconds * 1000;
        while (performance.now() < endsAt) {
          const { id, answeredAt } = await postMessage(parley, workspace);
          spansMs.push((await arrivals.at("idle", id)) - answeredAt + tripMs);
        }
        return figuresOf(spansMs);
      },
      "bare POST": () => postPinned(arrivals.url("bare"), { concurrency: 1, seconds: scale.seconds }),
    };
  },
} satisfies Benchmark;
