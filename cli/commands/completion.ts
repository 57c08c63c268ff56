import { Argument, type Command } from "commander";
import bash from "../completion/parley.bash" with { type: "file" };
import fish from "../completion/parley.fish" with { type: "file" };
import zsh from "../completion/parley.zsh" with { type: "file" };
import { addCommand } from "../invocation/command.ts";
import { completionsOf } from "../invocation/completions.ts";
import type { Invocation } from "../invocation/invocation.ts";

/** What makes each shell ask this command at every press of the Tab key. */
const scripts = { bash, zsh, fish };

type Shell = keyof typeof scripts;

/** `parley completion`: completion for a shell, and with words after `--` what can follow them. */
export function addCompletion(program: Command, invocation: Invocation): void {
  addCommand(program, "completion", {
    summary: "Print what makes a shell complete parley's commands and options",
    examples: [
      "source <(parley completion bash)                    # in ~/.bashrc",
      "source <(parley completion zsh)                     # in ~/.zshrc",
      "parley completion fish | source                     # in config.fish",
    ],
  })
    .addArgument(new Argument("<shell>", "the shell").choices(Object.keys(scripts)))
    .argument("[words...]", "used by the script: the words up to the cursor")
    .action(async (shell: Shell, words: string[]) => {
      const { output } = invocation;
      if (words.length === 0) {
        const script = await Bun.file(scripts[shell]).text();
        if (output.isJson) output.json({ script });
        else process.stdout.write(script);
        return;
      }
      const found = completionsOf(program, words);
      if (output.isJson) return output.json(found);
      const lines = found.map(({ word, description }) =>
        description === "" || shell === "bash" ? word : `${word}\t${description}`,
      );
      process.stdout.write(lines.map((line) => `${line}\n`).join(""));
    });
}
