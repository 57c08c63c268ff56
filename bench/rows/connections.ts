import type { Benchmark } from "../benchmark.ts";
import { startParley } from "../parley.ts";
import { measurePosts, postRequest } from "../posts.ts";
import { seedWorkspace } from "../workspace.ts";

export default {
  row: 8,
  title: "Post with 16 connections and with 64",
  method: "The same server under both loads: how well few clients share a commit.",
  goals: [{ figure: "perSecond", of: "16 connections", against: "64 connections", atLeast: 0.5 }],
  async start(scale, stack) {
    const workspace = await seedWorkspace();
    const parley = stack.use(await startParley(workspace.dataDir));
    const request = postRequest(parley, workspace);
    return {
      "16 connections": () => measurePosts(parley, workspace.file, request, scale, 16),
      "64 connections": () => measurePosts(parley, workspace.file, request, scale, 64),
    };
  },
} satisfies Benchmark;
