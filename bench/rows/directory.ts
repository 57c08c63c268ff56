import type { Benchmark, Scale, Sides } from "../benchmark.ts";
import { load } from "../load.ts";
import { startParley } from "../parley.ts";
import { manyConnections } from "../posts.ts";
import { fillPeople } from "../tables.ts";
import { seedWorkspace } from "../workspace.ts";

const token = "directory";

export default {
  row: 16,
  title: "Look a person up by userName",
  method:
    'What a directory asks before it adds or changes anybody: `filter=userName eq "…"`, in a team of 100 people (few) ' +
    "and in one of 100,000 (many), each with a server of its own.",
  goals: [{ figure: "p50Ms", of: "many", against: "few", atMost: 1.3 }],
  async start(scale, stack) {
    const sides: Sides = {};
    for (const [size, people] of Object.entries(sizesOf(scale))) {
      const workspace = await seedWorkspace();
      fillPeople(workspace, people);
      const parley = stack.use(await startParley(workspace.dataDir, { SCIM_TOKEN: token }));
      const filter = encodeURIComponent(`userName eq "PERSON${people / 2}@example.com"`);
      const request = {
        url: `${parley.url}/scim/v2/Users?filter=${filter}&startIndex=1&count=100`,
        headers: { Authorization: `Bearer ${token}` },
        connections: manyConnections,
        seconds: scale.seconds,
      };
      await checkFound(request);
      sides[size] = async () => ({ ...(await load(request)).figures, rssMb: parley.rssMb() });
    }
    return sides;
  },
} satisfies Benchmark;

function sizesOf(scale: Scale): Record<string, number> {
  return { few: 100, many: scale.of(100_000) };
}

/** @throws unless the look-up finds exactly one person. */
async function checkFound({ url, headers }: { url: string; headers: Record<string, string> }): Promise<void> {
  const { totalResults } = (await (await fetch(url, { headers })).json()) as { totalResults: number };
  if (totalResults !== 1) throw new Error(`${url} finds ${totalResults} people`);
}
