import type { Benchmark } from "../benchmark.ts";
import { startFloor } from "../floor.ts";
import { load } from "../load.ts";
import { startParley } from "../parley.ts";
import { insertFloor, manyConnections, measurePosts, postRequest } from "../posts.ts";
import { seedWorkspace } from "../workspace.ts";

export default {
  row: 1,
  title: "Post a message, no subscription",
  method:
    "F2 is a bare server that parses JSON and inserts it, flushed to disk before it answers. " +
    "F1 answers with a constant, to show what HTTP alone costs.",
  goals: [
    { figure: "perSecond", of: "Parley", against: "F2", atLeast: 0.5 },
    { figure: "p99Ms", of: "Parley", against: "F2", atMost: 3 },
  ],
  async start(scale, stack) {
    const workspace = await seedWorkspace();
    const parley = stack.use(await startParley(workspace.dataDir));
    const constant = stack.use(await startFloor("constant"));
    const { seconds } = scale;
    return {
      Parley: () => measurePosts(parley, workspace.file, postRequest(parley, workspace), scale),
      F2: await insertFloor(scale, stack),
      F1: async () =>
        (await load({ url: constant.firstLine, connections: manyConnections, seconds })).figures,
    };
  },
} satisfies Benchmark;
