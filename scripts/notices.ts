// Writes licenses/THIRD_PARTY_NOTICES.txt, which the binary carries: run `bun scripts/notices.ts` when a bundled
// package changes. With --check it writes nothing and exits with 1 if the file is out of date.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bundledPackages, type Package } from "./bundled-packages.ts";

const root = join(import.meta.dir, "..");
const licenses = join(root, "licenses");
const path = join(licenses, "THIRD_PARTY_NOTICES.txt");

const notices = noticesOf(await bundledPackages());
if (!process.argv.includes("--check")) writeFileSync(path, notices);
else if (readFileSync(path, "utf8") !== notices) {
  console.error(`${path} is not what is bundled now. Run: bun scripts/notices.ts`);
  process.exitCode = 1;
}

function noticesOf(packages: Package[]): string {
  const intro =
    "Parley is MIT-licensed. Its binary holds the work of others, under the licences that follow.\n" +
    "What swagger-ui-dist is made of in turn is named with it.";
  const parts = packages.map((one) => part(`${one.name} ${one.version} (${one.license})`, textOf(one)));
  const bun = part("Bun, and what it is linked with", read(join(licenses, "bun.txt")));
  const lgpl = part("The LGPL 2.1", read(join(licenses, "LGPL-2.1.txt")));
  return [intro, bun, ...parts, lgpl].join("\n\n\n") + "\n";
}

function part(title: string, text: string): string {
  return `${title}\n${"=".repeat(title.length)}\n\n${text}`;
}

/** @throws for a package without a licence text, unless another package carries the text of the same licence. */
function textOf({ name, license, folder }: Package): string {
  const files = readdirSync(folder)
    .filter(
      (file) => /^(licen[cs]e|notice|copying)/i.test(file) || file === "swagger-ui-bundle.js.LICENSE.txt",
    )
    .toSorted();
  if (files.length > 0) return files.map((file) => read(join(folder, file))).join("\n\n");
  if (license === "Apache-2.0") return "The text of the Apache License 2.0 stands with swagger-ui-dist.";
  throw new Error(`${name} has no text of its licence (${license}).`);
}

function read(file: string): string {
  return readFileSync(file, "utf8")
    .replaceAll("\r\n", "\n")
    .replaceAll(/[ \t]+$/gm, "")
    .replaceAll(/^\n+|\n+$/g, "");
}
