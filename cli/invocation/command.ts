import type { Command } from "commander";

/**
 * Adds a command with its help, a summary and examples, under its parent and returns it. `syntax` is the name with any
 * arguments: `rename [team]`. Arguments that a prompt can ask for are optional.
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
