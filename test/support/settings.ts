import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { readConfig } from "../../src/config.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** Every setting by its key in `parley.toml`: the error about an unknown key lists them all. */
export function settingKeys(): string[] {
  using folder = temporaryFolder();
  writeFileSync(join(folder.path, "parley.toml"), "nothing = 1\n");
  try {
    readConfig(folder.path, {});
  } catch (error) {
    const list = /the settings are (.*)\.$/.exec(String(error))?.[1] ?? "";
    return list.split(", ");
  }
  return [];
}
