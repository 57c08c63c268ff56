import type { Command } from "commander";

/**
 * Adds a command under its parent, with its help: a summary and examples. `syntax` is its name, and for a verb its
 * arguments: `rename [team]`. An argument that a prompt can ask for is optional there.
 */
export function addCommand(
  parent: Command,
  syntax: string,
  help: { summary: string; examples: readonly [string, ...string[]] },
): Command {
  const { summary, examples } = help;
  const lines = examples.map((example) => `  ${example}`).join("\n");
  return parent
    .command(syntax)
    .description(summary)
    .helpCommand(false)
    .addHelpText("after", `\n${examples.length === 1 ? "Example" : "Examples"}:\n${lines}`);
}
