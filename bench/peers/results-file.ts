import { join } from "node:path";

const file = Bun.file(join(import.meta.dir, "..", "RESULTS.md"));

/** The heading of the last section of the file, which a run of its own measures. */
export const sectionHeading = "## Beside PocketBase";

/** Replaces everything but the section on PocketBase. */
export async function writeRows(rows: string): Promise<void> {
  const [, section] = await readParts();
  await Bun.write(file, rows + section);
}

/** Replaces the section on PocketBase. */
export async function writeSection(section: string): Promise<void> {
  const [rows] = await readParts();
  await Bun.write(file, `${rows}\n${section}\n`);
}

/** What comes before the section, and the section with the empty line above it. */
async function readParts(): Promise<[rows: string, section: string]> {
  const text = (await file.exists()) ? await file.text() : "# Results\n";
  const start = text.indexOf(`\n${sectionHeading}\n`);
  return start === -1 ? [text, ""] : [text.slice(0, start), text.slice(start)];
}
