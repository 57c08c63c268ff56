import type { Benchmark } from "../benchmark.ts";
import { startFloor } from "../floor.ts";
import { load } from "../load.ts";
import { measurePage, pageRequest } from "../pages.ts";
import { startParley } from "../parley.ts";
import { manyConnections } from "../posts.ts";
import { fillMessages } from "../tables.ts";
import { seedWorkspace } from "../workspace.ts";

export default {
  row: 4,
  title: "Read a page of 50 messages with authors and reactions",
  method:
    "F4 is a bare server that selects the same 50 rows from the same file, without their authors, and makes them into JSON.",
  goals: [{ figure: "perSecond", of: "Parley", against: "F4", atLeast: 0.6 }],
  async start(scale, stack) {
    const workspace = await seedWorkspace();
    fillMessages(workspace, workspace.channel, 1_000);
    const parley = stack.use(await startParley(workspace.dataDir));
    const floor = stack.use(await startFloor("page", workspace.file, workspace.channel.id));
    const { seconds } = scale;
    return {
      Parley: () => measurePage(parley, pageRequest(parley, workspace, workspace.channel, 1), scale),
      F4: async () => (await load({ url: floor.firstLine, connections: manyConnections, seconds })).figures,
    };
  },
} satisfies Benchmark;
