import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

export type Package = { name: string; version: string; license: string; folder: string };

const root = join(import.meta.dir, "..");

/** The packages that the bundle contains, sorted by name. `license` is an SPDX expression. */
export async function bundledPackages(): Promise<Package[]> {
  const { metafile } = await Bun.build({
    entrypoints: [join(root, "cli/main.ts")],
    target: "bun",
    metafile: true,
  });
  const inputs = Object.values(metafile?.outputs ?? {}).flatMap((output) => Object.keys(output.inputs));
  const folders = inputs.flatMap(
    (input) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(input)?.[0] ?? [],
  );
  if (folders.length === 0) throw new Error("The build does not say what it is made of.");
  return [...new Set(folders.map((folder) => resolve(folder)))]
    .map((folder) => {
      const text = readFileSync(join(folder, "package.json"), "utf8");
      return { ...(JSON.parse(text) as Package), folder };
    })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
