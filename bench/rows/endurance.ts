import { until } from "../../test/support/conditions.ts";
import type { Benchmark, Figures } from "../benchmark.ts";
import { startReceiver } from "../deliveries.ts";
import { load } from "../load.ts";
import { pageRequest } from "../pages.ts";
import { startParley } from "../parley.ts";
import { incomingRequest, loadCounted, postRequest } from "../posts.ts";
import { countRows } from "../tables.ts";
import { seedWorkspace, subscribe } from "../workspace.ts";

/** For each of the three kinds of request: at most 400 requests a second from its connections. */
const pace = { connections: 8, pauseMs: 20 };

export default {
  row: 14,
  title: "Serve an hour's worth of load in ten minutes",
  method:
    `Messages, incoming webhooks and pages from ${pace.connections} connections each, with a pause of ${pace.pauseMs} ms after ` +
    "every answer; each message goes to a subscription. Memory, open files and the write-ahead log after the first " +
    "minute and after the tenth, each time when the queue is empty.",
  goals: [
    { figure: "rssMb", of: "after ten minutes", against: "after one minute", atMost: 1.1 },
    { figure: "openFiles", of: "after ten minutes", against: "after one minute", atMostMore: 0 },
    { figure: "walMb", of: "after ten minutes", against: "after one minute", atMostMore: 0 },
  ],
  isOneRun: true,
  async start(scale, stack) {
    const workspace = await seedWorkspace();
    const receiver = stack.use(await startReceiver());
    await subscribe(workspace, receiver.firstLine);
    const parley = stack.use(await startParley(workspace.dataDir));

    const serve = async (fullSeconds: number): Promise<Figures> => {
      const seconds = scale.of(fullSeconds);
      const [figures] = await Promise.all([
        loadCounted(
          workspace.file,
          { ...postRequest(parley, workspace), ...pace, seconds },
          { ...incomingRequest(parley, workspace), ...pace, seconds },
        ),
        load({ ...pageRequest(parley, workspace, workspace.channel, 1), ...pace, seconds }),
      ]);
      await until("the queue is empty", () => countRows(workspace.file, "jobs") === 0, {
        timeout_ms: 60_000,
      });
      return { ...figures, ...parley.footprint() };
    };
    return { "after one minute": () => serve(60), "after ten minutes": () => serve(540) };
  },
} satisfies Benchmark;
