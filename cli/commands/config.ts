import type { Command } from "commander";
import { type ShownSetting, showSettings } from "../../src/config.ts";
import { unknownSettings, whyUnknown } from "../../src/unknown-settings.ts";
import { addCommand } from "../invocation/command.ts";
import type { Invocation } from "../invocation/invocation.ts";

/** `parley config`: the settings. */
export function addConfig(program: Command, invocation: Invocation): void {
  const noun = addCommand(program, "config", {
    summary: "Show the settings and where they come from",
    examples: ["parley config show"],
  });
  addCommand(noun, "show", {
    summary: "List each setting, its value and its source; secrets stay hidden",
    examples: ["parley config show", "parley config show --json"],
  }).action(() => {
    const { dataDir, environment, options, output } = invocation;
    const { settings, problems } = showSettings(dataDir, environment, { dataDir: options.dataDir });
    const unknown = unknownSettings(environment);
    if (output.isJson) return output.json({ settings, problems, unknown });
    output.list(
      settings,
      [
        { title: "SETTING", of: ({ name }) => name },
        { title: "VALUE", of: valueText, canShrink: true },
        {
          title: "SOURCE",
          of: ({ source, file }) => (file === null ? source : `file ${file}`),
          canShrink: true,
        },
      ],
      { none: "" },
    );
    const invalid = settings.flatMap(({ problem }) => problem ?? []);
    for (const problem of [...problems, ...invalid, ...unknown.map(whyUnknown)]) output.note(problem);
    output.note("A running server keeps the environment and the parley.toml that it was started with.");
  });
}

function valueText({ value, problem }: ShownSetting): string {
  if (problem !== null) return "invalid";
  return value === null ? "none" : String(value);
}
