// `bun run release [--out DIR]`: makes the files of a release, by default in dist/release. Bun's builds for the other
// systems come from npm's registry, each checked against the sum that scripts/find-bun.sh has for it.
import { parseArgs } from "node:util";
import { makeRelease } from "./release.ts";
import { targets } from "./targets.ts";

try {
  const { values } = parseArgs({ options: { out: { type: "string", default: "dist/release" } } });
  await makeRelease(values.out, targets, (file) => console.error(`${file} …`));
  console.log(values.out);
} catch (error) {
  console.error(`error: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
