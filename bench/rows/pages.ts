import type { Benchmark, Scale, Sides } from "../benchmark.ts";
import { measurePage, pageRequest } from "../pages.ts";
import { startParley } from "../parley.ts";
import { fillMessages } from "../tables.ts";
import { addChannel, seedWorkspace } from "../workspace.ts";

const messagesPerPage = 50;

export default {
  row: 10,
  title: "Any page of a channel, whatever its size",
  method:
    "The first, the middle and the last page of channels of 1,000 (small), 1,000,000 (large) and 5,000,000 (huge) " +
    "messages in one database.",
  goals: ["large", "huge"].flatMap((size) =>
    ["first", "middle", "last"].map((page) => ({
      figure: "p50Ms" as const,
      of: `${page} of ${size}`,
      against: `${page} of small`,
      atMost: 1.3,
    })),
  ),
  async start(scale, stack) {
    const workspace = await seedWorkspace();
    const sides: Sides = {};
    for (const [size, messages] of Object.entries(sizesOf(scale))) {
      const channel = await addChannel(workspace, size);
      fillMessages(workspace, channel, messages);
      const pages = { first: 1, middle: messages / messagesPerPage / 2, last: messages / messagesPerPage };
      for (const [name, page] of Object.entries(pages)) {
        sides[`${name} of ${size}`] = () =>
          measurePage(parley, pageRequest(parley, workspace, channel, page), scale);
      }
    }
    const parley = stack.use(await startParley(workspace.dataDir));
    return sides;
  },
} satisfies Benchmark;

function sizesOf(scale: Scale): Record<string, number> {
  return { small: 1_000, large: scale.of(1_000_000), huge: scale.of(5_000_000) };
}
