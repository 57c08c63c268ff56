import type { Benchmark } from "../benchmark.ts";
import { atHosts, deliver, jobsOfFullQueue, startEncryptedReceiver, trusting } from "../deliveries.ts";
import { postPinned } from "../floor.ts";
import { quickShared as concurrency } from "../../src/deliveries/places.ts";
import { seedWorkspace, subscribe } from "../workspace.ts";

const hosts = 5;

export default {
  row: 6,
  title: "Deliver over https",
  method:
    "As row 5, to a receiver with a certificate of its own authority. F3 here uses its connections again; beside it, F3 " +
    "with a new connection for each request.",
  goals: [{ figure: "perSecond", of: "Parley", against: "F3, keep-alive", atLeast: 0.6 }],
  async start(scale, stack) {
    const receiver = stack.use(await startEncryptedReceiver());
    const workspace = await seedWorkspace();
    const subscriptionIds = await subscribe(workspace, atHosts(receiver, hosts), { count: 10 / hosts });
    const size = jobsOfFullQueue(scale);
    const pinned = { concurrency, seconds: scale.seconds, env: trusting(receiver) };
    return {
      Parley: () => deliver({ workspace, receiver, subscriptionIds, size }, scale),
      "F3, keep-alive": () => postPinned(receiver.firstLine, { ...pinned, keepsAlive: true }),
      "F3, new connections": () => postPinned(receiver.firstLine, pinned),
    };
  },
} satisfies Benchmark;
