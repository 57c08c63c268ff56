import type { Benchmark } from "../benchmark.ts";
import { atHosts, deliver, jobsOfFullQueue, startReceiver } from "../deliveries.ts";
import { postPinned } from "../floor.ts";
import { quickShared as concurrency } from "../../src/deliveries/places.ts";
import { seedWorkspace, subscribe } from "../workspace.ts";

const hosts = 5;

export default {
  row: 5,
  title: "Deliver from a full queue, settled and logged",
  method:
    `A server starts on a full queue of 10 subscriptions at ${hosts} hosts, so that it has ${concurrency} requests under way, and on ` +
    "one of a single subscription. F3 is a loop of bare requests of the same kind to the same receiver, as many at once.",
  goals: [{ figure: "perSecond", of: "Parley", against: "F3", atLeast: 0.6 }],
  async start(scale, stack) {
    const receiver = stack.use(await startReceiver("0.0.0.0"));
    const many = await seedWorkspace();
    const one = await seedWorkspace();
    const size = jobsOfFullQueue(scale);
    const toMany = {
      workspace: many,
      receiver,
      size,
      subscriptionIds: await subscribe(many, atHosts(receiver, hosts), { count: 10 / hosts }),
    };
    const toOne = {
      workspace: one,
      receiver,
      size,
      subscriptionIds: await subscribe(one, receiver.firstLine),
    };
    return {
      Parley: () => deliver(toMany, scale),
      "Parley, one subscription": () => deliver(toOne, scale),
      F3: () => postPinned(receiver.firstLine, { concurrency, seconds: scale.seconds }),
    };
  },
} satisfies Benchmark;
