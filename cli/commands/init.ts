import type { Command } from "commander";
import { initWorkspace, shownPlace } from "../../src/workspace.ts";
import { loginName } from "../invocation/actor.ts";
import { addCommand } from "../invocation/command.ts";
import type { Invocation } from "../invocation/invocation.ts";

/** `parley init`: creates the workspace, its first owner and `#general`. */
export function addInit(program: Command, invocation: Invocation): void {
  addCommand(program, "init", {
    summary: "Create the workspace: a team, its first owner and #general",
    examples: ['parley init --team "Acme" --owner "Ada Lovelace"'],
  })
    .option("--owner <name>", "the first owner's name; --team sets the team's name")
    .action(async (options: { owner?: string }) => {
      const { prompts, actor, output } = invocation;
      // There is no team yet, so the global option names the one to create.
      const team = await prompts.text(invocation.options.team, {
        question: "What is the team called?",
        option: "--team NAME",
      });
      const owner = await prompts.text(options.owner, {
        question: "Who owns it?",
        option: "--owner NAME",
        suggested: loginName(),
      });
      const made = await initWorkspace(invocation.place, { team, owner }, actor);
      output.done({
        data: made,
        said: [
          `Created the workspace of ${made.team.name} in ${shownPlace(invocation.place)}.`,
          `${made.owner.name} is its first owner, #${made.channel.name} its first channel.`,
          "To be told in a channel when a webhook fails: parley teams notify --channel CHANNEL",
        ],
        brief: made.team.id,
        next: "parley serve, or parley quickstart for a bot with a token to try it with",
      });
    });
}
