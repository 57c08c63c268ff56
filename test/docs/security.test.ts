import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { parleyProgram } from "../../cli/program.ts";
import { readConfig } from "../../src/config.ts";
import { scopes } from "../../src/tokens/scopes.ts";
import { settingKeys } from "../support/settings.ts";

const root = join(import.meta.dir, "..", "..");
const text = readFileSync(join(root, "SECURITY.md"), "utf8");
/** Everything that is set as code in the text, in one line each. */
const code = [...text.matchAll(/`([^`]+)`/g)].map(([, inner = ""]) => inner.replaceAll(/\s+/g, " "));

/** The verb that the words name, and what of them is left. */
function verbOf(words: string[]): { verb: Command | undefined; rest: string[] } {
  const [noun, name, ...rest] = words;
  const verb = parleyProgram({})
    .commands.find((command) => command.name() === noun)
    ?.commands.find((command) => command.name() === name);
  return { verb, rest };
}

describe("SECURITY.md", () => {
  test("says what each scope opens, and names no other", () => {
    const rows = [...text.matchAll(/^\| `([a-z]+:[a-z]+)` \|/gm)].map(([, scope]) => scope);
    expect(rows).toEqual([...scopes]);
    expect(code.filter((word) => /^[a-z]+:[a-z]+$/.test(word) && !rows.includes(word))).toEqual([]);
  });

  test("names settings that there are, with values that they take", () => {
    const keys = settingKeys();
    const named = code.flatMap((each) => [...each.matchAll(/\b([A-Z]+_[A-Z_]+)(?:=(\w+))?/g)]);
    expect(named.length).toBeGreaterThan(10);
    const unknown = named.filter(
      ([, name = ""]) => !keys.includes(name.replace(/^PARLEY_/, "").toLowerCase()),
    );
    expect(unknown.map(([setting]) => setting)).toEqual([]);
    for (const [setting, name = "", value] of named) {
      if (value !== undefined) expect(() => readConfig(root, { [name]: value }), setting).not.toThrow();
    }
  });

  test("names commands and options that there are", () => {
    const lines = code.filter((each) => /^parley [a-z]/.test(each));
    expect(lines.length).toBeGreaterThan(5);
    const options = new Set<string | undefined>();
    for (const line of lines) {
      const { verb, rest } = verbOf(line.split(" ").slice(1));
      expect(verb, line).toBeDefined();
      const known = verb?.options.map(({ long }) => long);
      for (const option of rest.filter((word) => word.startsWith("--")))
        expect(known, line).toContain(option);
    }
    for (const noun of parleyProgram({}).commands) {
      for (const verb of noun.commands) for (const { long } of verb.options) options.add(long);
    }
    expect(code.filter((each) => each.startsWith("--") && !options.has(each))).toEqual([]);
  });

  test("links to what is there, and is linked from the README", () => {
    const links = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, target = ""]) => target);
    const folders = code.filter((each) => /^test\/\S+\/$/.test(each));
    const files = code.filter((each) => /^(test|src)\/\S+\.ts$/.test(each));
    const paths = [...links.map((link) => link.replace(/#.*/, "")), ...folders, ...files];
    for (const path of paths) expect(existsSync(join(root, path)), path).toBe(true);
    expect(folders).toHaveLength(1);
    // The evidence of the threat model.
    expect(files.length).toBeGreaterThan(20);
    expect(readFileSync(join(root, "README.md"), "utf8")).toContain("(SECURITY.md)");
  });
});
