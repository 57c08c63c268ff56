import type { Command } from "commander";
import { channelResource } from "../../src/channels/channels.ts";
import type { Channel } from "../../src/channels/schemas.ts";
import { makeQuickstart } from "../../src/quickstart.ts";
import { getTeamNamed, type Team } from "../../src/teams/teams.ts";
import type { User } from "../../src/users/schemas.ts";
import { userResource } from "../../src/users/users.ts";
import { hasWorkspace, initWorkspace } from "../../src/data-folder.ts";
import { loginName } from "../invocation/actor.ts";
import { addCommand } from "../invocation/command.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { outgoing } from "../invocation/outgoing.ts";
import { serveUntilStopped } from "../invocation/serving.ts";
import { incomingUrl } from "./incoming-webhooks.ts";

/** Everything that the printed examples use. */
type Tools = { team: Team; channel: Channel; bot: User; token: string; webhook: string };

/** `parley quickstart`: from nothing to commands to paste. Run again, it prints new ones. */
export function addQuickstart(program: Command, invocation: Invocation): void {
  addCommand(program, "quickstart", {
    summary: "Set up a workspace to try, print commands to paste, and serve",
    examples: ["parley quickstart"],
  }).action(async () => {
    const isNew = !(await hasWorkspace(invocation.dataDir));
    if (isNew) await makeWorkspace(invocation);
    // The log would bury the commands to paste; PARLEY_LOG_LEVEL brings it back.
    const flags = invocation.environment.PARLEY_LOG_LEVEL ? {} : { logLevel: "warn" };
    await serveUntilStopped(invocation, flags, async ({ url, database }) => {
      const team = await getTeamNamed(database.read, isNew ? undefined : invocation.options.team);
      const baseUrl = invocation.config().baseUrl || url;
      const { vault } = outgoing(invocation);
      const made = await database.write((tx) => makeQuickstart(tx, vault, team.id, invocation.actor));
      const tools = {
        team,
        channel: channelResource(made.channel),
        bot: userResource(made.bot),
        token: made.token,
        webhook: incomingUrl(baseUrl, made.webhookToken),
      };
      invocation.output.done({
        data: { url, ...tools },
        said: lines(tools, baseUrl, { isNew, dataDir: invocation.dataDir }),
        brief: tools.token,
      });
    });
  });
}

async function makeWorkspace({ dataDir, options, prompts, actor }: Invocation): Promise<void> {
  const owner = loginName();
  // Quickstart never requires an answer: without a terminal it uses the suggestions.
  const given = prompts.canAsk ? undefined : { team: "My team", owner };
  await initWorkspace(
    dataDir,
    {
      team: await prompts.text(options.team ?? given?.team, {
        question: "What is the team called?",
        option: "--team NAME",
        suggested: "My team",
      }),
      owner: await prompts.text(given?.owner, {
        question: "Who owns it?",
        option: "--owner NAME",
        suggested: owner,
      }),
    },
    actor,
  );
}

function lines(
  { team, channel, bot, token, webhook }: Tools,
  baseUrl: string,
  { isNew, dataDir }: { isNew: boolean; dataDir: string },
): string[] {
  const messages = `${baseUrl}/api/v1/channels/${channel.id}/messages`;
  return [
    ...(isNew
      ? [`Created the workspace of ${team.name} in ${dataDir}.`]
      : [
          `The workspace of ${team.name} already exists in ${dataDir}.`,
          "Here are a fresh token and a fresh incoming webhook.",
          "Those of an earlier quickstart were revoked.",
        ]),
    `The bot ${bot.name} is in #${channel.name}. Its token has all scopes and is shown once.`,
    "",
    `Post a message in #${channel.name}:`,
    "",
    `  curl -H "Authorization: Bearer ${token}" \\`,
    `    -H "Content-Type: application/json" -d '{"body":"Hello from curl"}' \\`,
    `    ${messages}`,
    "",
    "Read it back:",
    "",
    `  curl -H "Authorization: Bearer ${token}" \\`,
    `    ${messages}`,
    "",
    "Post through the incoming webhook, which needs no token and returns no body:",
    "",
    `  curl -d '{"text":"Hello from a webhook"}' ${webhook}`,
    "",
    "To see webhooks delivered to this machine, stop this and run",
    "",
    "  WEBHOOKS_BLOCK_PRIVATE_URLS=false parley serve",
    "",
    "and in a second terminal, which prints the next steps,",
    "",
    "  parley listen",
    "",
    `Parley is listening at ${baseUrl}`,
    "Stop it with Ctrl-C.",
  ];
}
