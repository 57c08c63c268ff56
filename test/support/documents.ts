import { readFileSync } from "node:fs";
import { join } from "node:path";

export type CodeBlock = { language: string; label: string; code: string };

/** The fenced code blocks of one of the project's documents that carry a label behind their language. */
export function labelledBlocks(document: string): CodeBlock[] {
  const text = readFileSync(join(import.meta.dir, "..", "..", document), "utf8");
  const fences = text.matchAll(/^```(\w+) (\w+)\n([\s\S]*?)^```$/gm);
  return [...fences].map(([, language = "", label = "", code = ""]) => ({ language, label, code }));
}
