import type { Benchmark } from "../benchmark.ts";
import { startReceiver } from "../deliveries.ts";
import { startParley } from "../parley.ts";
import { measurePosts, postRequest } from "../posts.ts";
import { addChannel, seedWorkspace, subscribe } from "../workspace.ts";

export default {
  row: 9,
  title: "Post among 10,000 subscriptions of which one matches",
  method:
    "The others want the messages of another channel. One subscription alone is row 2, measured here again.",
  goals: [{ figure: "perSecond", of: "10,000 subscriptions", against: "1 subscription", atLeast: 0.8 }],
  async start(scale, stack) {
    const receiver = stack.use(await startReceiver());
    const sides = { "10,000 subscriptions": scale.of(10_000), "1 subscription": 1 };
    const started = Object.entries(sides).map(async ([name, count]) => {
      const workspace = await seedWorkspace();
      const url = `${receiver.firstLine}/hang`;
      await subscribe(workspace, url, { channels: [workspace.channel] });
      const elsewhere = await addChannel(workspace, "elsewhere");
      await subscribe(workspace, url, { channels: [elsewhere], count: count - 1 });
      const parley = stack.use(await startParley(workspace.dataDir, { WEBHOOKS_TIMEOUT: "300" }));
      return [
        name,
        () => measurePosts(parley, workspace.file, postRequest(parley, workspace), scale),
      ] as const;
    });
    return Object.fromEntries(await Promise.all(started));
  },
} satisfies Benchmark;
