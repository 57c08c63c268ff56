import type { Command } from "commander";
import { gatherStatus } from "../../src/status/status.ts";
import { addCommand } from "../invocation/command.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { statusAdvice, statusLines } from "../terminal/status-view.ts";

/** `parley status`: how the workspace is, in one screen. */
export function addStatus(program: Command, invocation: Invocation): void {
  const command = addCommand(program, "status", {
    summary: "Show how the workspace is: server, size, queue, subscriptions",
    examples: ["parley status"],
  });
  invocation.workspaceAction(command, async ({ read }) => {
    const status = await gatherStatus(read, invocation.dataDir);
    invocation.output.details(status, statusLines(status), statusAdvice(status));
  });
}
