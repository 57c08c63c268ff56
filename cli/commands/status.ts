import type { Command } from "commander";
import type { Database } from "../../src/database/database.ts";
import { DomainError } from "../../src/errors.ts";
import { Rates, selectTotals } from "../../src/status/rates.ts";
import { gatherStatus } from "../../src/status/status.ts";
import { addCommand } from "../invocation/command.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { stopSignal } from "../invocation/stop-signal.ts";
import { drawUntilLeft } from "../terminal/live-screen.ts";
import { rateText, statusAdvice, statusLines } from "../terminal/status-view.ts";
import { pairs } from "../terminal/table.ts";

const everyMs = 1_000;

/** `parley status`: how the workspace is, in one screen. */
export function addStatus(program: Command, invocation: Invocation): void {
  const command = addCommand(program, "status", {
    summary: "Show how the workspace is: server, size, queue, subscriptions",
    examples: ["parley status", "parley status --watch"],
  }).option("--watch", "keep showing it, with posts and deliveries a second, until q or Ctrl-C");
  invocation.workspaceAction(command, async (database, { watch }: { watch?: true }) => {
    if (watch) return await watchStatus(database, invocation);
    const status = await gatherStatus(database, invocation.place);
    invocation.output.details(status, statusLines(status), statusAdvice(status));
  });
}

async function watchStatus(database: Database, { place, output }: Invocation): Promise<void> {
  const { stdin: input, stdout } = process;
  if (output.isJson || !input.isTTY || !stdout.isTTY) {
    throw new DomainError(
      "usage",
      "--watch redraws a terminal, and there is none to draw on: leave it out to print the status once.",
    );
  }
  const rates = new Rates();
  await drawUntilLeft(
    { input, output: stdout },
    async () => {
      rates.sample(await database.ask(selectTotals));
      const lines = [
        ...statusLines(await gatherStatus(database, place)),
        ["posts", rateText(rates.posts)],
        ["deliveries", rateText(rates.attempts)],
      ] as const;
      return [...pairs(lines, stdout.columns).split("\n"), "", "q or Ctrl-C leaves"];
    },
    { everyMs, stopped: stopSignal() },
  );
}
