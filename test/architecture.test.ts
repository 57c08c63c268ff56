import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

const root = join(import.meta.dir, "..");
const text = await Bun.file(join(root, "ARCHITECTURE.md")).text();
/** With what it leaves to the page for those who change something. */
const both = text + (await Bun.file(join(root, "CONTRIBUTING.md")).text());

/** The layers as `scripts/layers.ts` lists them, lowest first: folders and single files of `src/` and `cli/`. */
const layers = [
  ...(await Bun.file(join(root, "scripts/layers.ts")).text()).matchAll(/^ {2}"((?:src|cli)\b[^"]*)",$/gm),
].map(([, layer = ""]) => layer);

/** What is in backticks and looks like a path: folders end with a slash. */
const paths = [...both.matchAll(/`([\w.-]+(?:\/[\w.-]+)*(?:\/|\.(?:ts|md|sql|json)))`/g)].map(
  ([, path = ""]) => path,
);

/** The layers that the picture names, from its top to its bottom. */
const drawn = [...text.matchAll(/^ {2}\w+\["<b>[^<]*<\/b><br\/>([^"]*)"\]$/gm)].flatMap(([, names = ""]) =>
  names.split(" ▸ "),
);

/** A path of ARCHITECTURE.md from the root of the repository: those of `src/` go without it. */
function placeOf(path: string): string | undefined {
  return [path, `src/${path}`].find((place) => existsSync(join(root, place)));
}

test("every file and folder that ARCHITECTURE.md and CONTRIBUTING.md name is there", () => {
  expect(paths.length).toBeGreaterThan(80);
  // In a domain folder files go by these names; which folder is the reader's to choose.
  const ofEachDomain = ["messages.ts", "store.ts", "schemas.ts", "resource.ts"];
  const missing = paths.filter((path) => placeOf(path) === undefined && !ofEachDomain.includes(path));
  expect(missing).toEqual([]);
});

test("every link of ARCHITECTURE.md and CONTRIBUTING.md leads somewhere", () => {
  const links = [...both.matchAll(/\]\(([^)#]+)[^)]*\)/g)]
    .map(([, link = ""]) => link)
    .filter((link) => !link.startsWith("https://"));
  expect(links.length).toBeGreaterThan(0);
  expect(links.filter((link) => !existsSync(join(root, link)))).toEqual([]);
});

test("ARCHITECTURE.md can be read in one sitting: 200 lines at most, none wider than 120 columns", () => {
  const lines = text.trimEnd().split("\n");
  expect(lines.length).toBeLessThanOrEqual(200);
  expect(lines.filter((line) => line.length > 120)).toEqual([]);
});

test("the picture shows every layer, those that may import more above the others", () => {
  expect(drawn.map((name) => layers.find((layer) => layer === placeOf(name)) ?? name)).toEqual(
    layers.toReversed(),
  );
});

test("every folder of the source has its place among the layers, and every layer is there", () => {
  const files = [...new Bun.Glob("{src,cli}/**/*.ts").scanSync({ cwd: root })];
  const modules = files.filter((file) => !file.endsWith(".d.ts"));
  const withoutLayer = modules.filter((file) => !layers.includes(file) && !layers.includes(dirname(file)));
  expect(withoutLayer).toEqual([]);
  expect(layers.filter((layer) => !existsSync(join(root, layer)))).toEqual([]);
});
