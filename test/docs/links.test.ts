import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

const root = join(import.meta.dir, "..", "..");
const documents = ["*.md", "docs/*.md"].flatMap((pattern) => [...new Bun.Glob(pattern).scanSync(root)]);

/** The anchors that GitHub gives the headings of a document. */
function anchorsOf(path: string): string[] {
  const text = readFileSync(path, "utf8").replaceAll(/^```.*?^```$/gms, "");
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, "")
      .replaceAll(" ", "-"),
  );
}

describe.each(documents)("%s", (document) => {
  const text = readFileSync(join(root, document), "utf8").replaceAll(/^```.*?^```$/gms, "");
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link);

  test("links to files and headings that exist", () => {
    const broken = links.filter((link) => {
      if (/^https?:/.test(link)) return false;
      const [file = "", anchor] = link.split("#");
      const target = file === "" ? join(root, document) : join(root, dirname(document), file);
      return !existsSync(target) || (anchor !== undefined && !anchorsOf(target).includes(anchor));
    });
    expect(broken).toEqual([]);
  });
});

test("the README links every page of the documentation", () => {
  expect(documents).toContain("docs/scim.md");
  const readme = readFileSync(join(root, "README.md"), "utf8");
  const missing = documents.filter(
    (document) => document !== "README.md" && !readme.includes(`(${document})`),
  );
  expect(missing).toEqual([]);
});
