import type { ChannelRow } from "../../src/channels/store.ts";
import { cursorOf } from "../../src/outbox/cursor.ts";
import type { Benchmark } from "../benchmark.ts";
import { load } from "../load.ts";
import { startParley } from "../parley.ts";
import { fillEvents } from "../tables.ts";
import { addChannel, seedWorkspace, subscribe } from "../workspace.ts";

const eventsPerPage = 100;

export default {
  row: 25,
  title: "A page of 100 of a subscription's 5,000,000 events, the first and the last",
  method:
    "The events are read through the API, from the beginning and from a cursor. For *few*, another subscription matches " +
    "none of them: a request looks at 10,000 and moves its cursor on. One connection.",
  goals: [{ figure: "p50Ms", of: "last", against: "first", atMost: 1.3 }],
  async start(scale, stack) {
    const workspace = await seedWorkspace();
    const quiet = await addChannel(workspace, "quiet");
    const idOfOne = async (channel: ChannelRow) =>
      (await subscribe(workspace, "http://127.0.0.1:1/", { channels: [channel] }))[0] ?? "";
    const all = await idOfOne(workspace.channel);
    const few = await idOfOne(quiet);
    const count = scale.of(5_000_000);
    fillEvents(workspace, workspace.channel, count);
    const parley = stack.use(await startParley(workspace.dataDir));
    const measure = async (subscription: string, after = "") => {
      const url = `${parley.url}/api/v1/webhooks/${subscription}/events?limit=${eventsPerPage}${after}`;
      const headers = { Authorization: `Bearer ${workspace.token}` };
      return (await load({ url, headers, connections: 1, seconds: scale.seconds })).figures;
    };
    const seq = count - eventsPerPage;
    const cursor = cursorOf({ seq, mark: seq.toString(16).padStart(12, "0") });
    return {
      first: () => measure(all),
      last: () => measure(all, `&after=${cursor}`),
      few: () => measure(few),
    };
  },
} satisfies Benchmark;
