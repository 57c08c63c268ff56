import type { Benchmark } from "../benchmark.ts";
import { startParley } from "../parley.ts";
import { incomingRequest, insertFloor, measurePosts } from "../posts.ts";
import { seedWorkspace } from "../workspace.ts";

export default {
  row: 3,
  title: "Post through a signed incoming webhook",
  method: "The signature of each request is checked over its raw bytes. F2 as in row 1.",
  goals: [{ figure: "perSecond", of: "Parley", against: "F2", atLeast: 0.5 }],
  async start(scale, stack) {
    const workspace = await seedWorkspace();
    const parley = stack.use(await startParley(workspace.dataDir));
    return {
      Parley: () => measurePosts(parley, workspace.file, incomingRequest(parley, workspace), scale),
      F2: await insertFloor(scale, stack),
    };
  },
} satisfies Benchmark;
