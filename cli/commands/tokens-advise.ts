import type { Command } from "commander";
import { workspaceTime } from "../../src/system/workspace-clock.ts";
import { type Advice, adviceOn } from "../../src/tokens/advice.ts";
import { addCommand } from "../invocation/command.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { idColumns } from "../terminal/id-columns.ts";
import { relativeTime } from "../terminal/relative-time.ts";

/** Adds `parley tokens advise`. */
export function addTokensAdvise(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "advise", {
    summary:
      "List tokens that expired, were not used for 90 days, or have scopes of which the audit log shows no use. " +
      "Reading, posting and reacting leave nothing there, so nothing is said about those scopes",
    examples: ["parley tokens advise"],
  });
  invocation.teamAction(command, async ({ database, team }) => {
    const advice = await database.ask((db) => adviceOn(db, team.id, workspaceTime()));
    invocation.output.list(
      advice,
      [
        { title: "NAME", of: ({ token }) => token.name, canShrink: true },
        { title: "USER", of: ({ token }) => token.user.name, canShrink: true },
        { title: "ADVICE", of: textOf, canShrink: true },
        ...idColumns<Advice>(({ token }) => token.id, 120),
      ],
      {
        none: "There is nothing to advise.",
        ...(advice.length > 0 && { next: "parley tokens revoke ID" }),
      },
    );
  });
}

function textOf({ token, kind, scopes }: Advice): string {
  if (kind === "expired") return `expired ${relativeTime(token.expires_at)}`;
  if (kind === "unused")
    return token.last_used_at === null ? "never used" : `used ${relativeTime(token.last_used_at)}`;
  return `no use of ${scopes.join(", ")}`;
}
