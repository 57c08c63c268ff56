import type { Command } from "commander";
import { channelResource } from "../../src/channels/channels.ts";
import type { Channel } from "../../src/channels/schemas.ts";
import { makeQuickstart, type Quickstart } from "../../src/quickstart.ts";
import { getTeamNamed, type Team } from "../../src/teams/teams.ts";
import type { User } from "../../src/users/schemas.ts";
import { userResource } from "../../src/users/users.ts";
import { hasWorkspace, initWorkspace, shownPlace } from "../../src/workspace.ts";
import { loginName } from "../invocation/actor.ts";
import { addCommand } from "../invocation/command.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { outgoing } from "../invocation/outgoing.ts";
import { serveUntilStopped } from "../invocation/serving.ts";
import { relativeTime } from "../terminal/relative-time.ts";
import { incomingUrl } from "../terminal/incoming-webhook-view.ts";

/** Everything that the printed examples use. */
type Tools = {
  team: Team;
  channel: Channel;
  bot: User;
  token: string | null;
  webhook: string | null;
  kept: Quickstart["kept"];
};

/** `parley quickstart`: from nothing to commands to paste. Run again, it keeps what it made. */
export function addQuickstart(program: Command, invocation: Invocation): void {
  addCommand(program, "quickstart", {
    summary: "Set up a workspace to try, print commands to paste, and serve",
    examples: ["parley quickstart"],
  }).action(async () => {
    const isNew = !(await hasWorkspace(invocation.place));
    if (isNew) await makeWorkspace(invocation);
    // The log would bury the commands to paste; PARLEY_LOG_LEVEL brings it back.
    const flags = invocation.environment.PARLEY_LOG_LEVEL ? {} : { logLevel: "warn" };
    await serveUntilStopped(invocation, flags, async ({ url, database }) => {
      const team = await database.ask((db) => getTeamNamed(db, isNew ? undefined : invocation.options.team));
      const baseUrl = invocation.config().baseUrl || url;
      const { vault } = outgoing(invocation);
      const made = await database.write((tx) => makeQuickstart(tx, vault, team.id, invocation.actor));
      const tools = {
        team,
        channel: channelResource(made.channel),
        bot: userResource(made.bot),
        token: made.token,
        webhook: made.webhookToken === null ? null : incomingUrl(baseUrl, made.webhookToken),
        kept: made.kept,
      };
      invocation.output.done({
        data: { url, ...tools },
        said: lines(tools, baseUrl, { isNew, where: shownPlace(invocation.place) }),
        brief: tools.token ?? url,
      });
    });
  });
}

async function makeWorkspace({ place, options, prompts, actor }: Invocation): Promise<void> {
  const owner = loginName();
  // Quickstart never requires an answer: without a terminal it uses the suggestions.
  const given = prompts.canAsk ? undefined : { team: "My team", owner };
  await initWorkspace(
    place,
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

function lines(tools: Tools, baseUrl: string, { isNew, where }: { isNew: boolean; where: string }): string[] {
  const { team } = tools;
  return [
    ...(isNew
      ? [`Created the workspace of ${team.name} in ${where}.`]
      : [`The workspace of ${team.name} already exists in ${where}.`, ...keptLines(tools)]),
    ...tokenLines(tools, `${baseUrl}/api/v1/channels/${tools.channel.id}/messages`),
    ...webhookLines(tools),
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

/** Names what earlier runs made: a script may use it, and its secrets cannot be shown again. */
function keptLines({ kept }: Tools): string[] {
  const tokens = kept.tokens.map(
    ({ id, created_at, last_used_at }) =>
      `  token ${id}, made ${relativeTime(created_at)}, used ${relativeTime(last_used_at)}`,
  );
  const webhook = kept.webhook
    ? [`  incoming webhook ${kept.webhook.id}, made ${relativeTime(kept.webhook.created_at)}`]
    : [];
  const all = [...tokens, ...webhook];
  return all.length === 0
    ? []
    : ["What quickstart made before still works. It cannot be shown again:", "", ...all, ""];
}

function tokenLines({ bot, channel, token }: Tools, messages: string): string[] {
  if (token === null) {
    return [
      "That is enough tokens. For a new one, revoke one and run quickstart again:",
      "",
      "  parley tokens revoke ID",
    ];
  }
  return [
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
  ];
}

function webhookLines({ bot, channel, webhook, kept }: Tools): string[] {
  if (webhook !== null) {
    return [
      "",
      "Post through the incoming webhook, which needs no token and returns no body:",
      "",
      `  curl -d '{"text":"Hello from a webhook"}' ${webhook}`,
    ];
  }
  return [
    "",
    "If you lost the address of the incoming webhook, replace it:",
    "",
    `  parley incoming-webhooks revoke ${kept.webhook?.id ?? "ID"} --yes`,
    `  parley incoming-webhooks create --bot ${bot.name} --channel ${channel.name}`,
  ];
}
