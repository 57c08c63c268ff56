import { version } from "../../package.json" with { type: "json" };
import { bundledPackages } from "../bundled-packages.ts";

/**
 * The bill of materials of the binaries, CycloneDX 1.6: Bun and every package in the bundle. It says nothing of when it
 * was made, so that two releases of one commit have the same.
 */
export async function billOfMaterials(commit: string) {
  const packages = await bundledPackages();
  const bun = {
    type: "platform",
    "bom-ref": `bun@${Bun.version}`,
    name: "bun",
    version: Bun.version,
    description: "The runtime. What it is linked with is listed by: parley licenses",
    purl: `pkg:github/oven-sh/bun@bun-v${Bun.version}`,
    licenses: [{ expression: "MIT AND LGPL-2.0-or-later AND LGPL-2.1-only" }],
  };
  const libraries = packages.map((one) => ({
    type: "library",
    "bom-ref": `${one.name}@${one.version}`,
    name: one.name,
    version: one.version,
    purl: `pkg:npm/${one.name.replace("@", "%40")}@${one.version}`,
    licenses: [{ expression: one.license }],
  }));
  const components = [bun, ...libraries];
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      component: {
        type: "application",
        "bom-ref": "parley",
        name: "parley",
        version,
        licenses: [{ license: { id: "MIT" } }],
        properties: [{ name: "parley:commit", value: commit }],
      },
    },
    components,
    dependencies: [{ ref: "parley", dependsOn: components.map((one) => one["bom-ref"]) }],
  };
}
