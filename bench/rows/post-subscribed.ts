import type { Benchmark } from "../benchmark.ts";
import { startReceiver } from "../deliveries.ts";
import { startParley } from "../parley.ts";
import { insertFloor, measurePosts, postRequest } from "../posts.ts";
import { seedWorkspace, subscribe } from "../workspace.ts";

export default {
  row: 2,
  title: "Post a message that matches one subscription",
  method:
    "Event and job are in the message's own commit. What is judged is that commit: the receiver does not answer, so that " +
    "its deliveries wait. Beside it, for the whole picture, posts while one that does answer gets them at once. F2 as in row 1.",
  goals: [{ figure: "perSecond", of: "Parley", against: "F2", atLeast: 0.4 }],
  async start(scale, stack) {
    const receiver = stack.use(await startReceiver());
    const waiting = await seedWorkspace();
    await subscribe(waiting, `${receiver.firstLine}/hang`);
    const delivering = await seedWorkspace();
    await subscribe(delivering, receiver.firstLine);
    // Longer than a run, so that no attempt ends during it and no subscription is disabled.
    const whileWaiting = stack.use(await startParley(waiting.dataDir, { WEBHOOKS_TIMEOUT: "300" }));
    return {
      Parley: () => measurePosts(whileWaiting, waiting.file, postRequest(whileWaiting, waiting), scale),
      "Parley, delivering": async () => {
        await using parley = await startParley(delivering.dataDir);
        return await measurePosts(parley, delivering.file, postRequest(parley, delivering), scale);
      },
      F2: await insertFloor(scale, stack),
    };
  },
} satisfies Benchmark;
