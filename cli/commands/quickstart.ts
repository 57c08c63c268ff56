import type { Command } from "commander";
import { createBot, listBots } from "../../src/bots/bots.ts";
import { channelResource, getChannelNamed, listAllChannels } from "../../src/channels/channels.ts";
import type { Channel } from "../../src/channels/schemas.ts";
import type { ChannelRow } from "../../src/channels/store.ts";
import type { Writing } from "../../src/database/open.ts";
import {
  createIncomingWebhook,
  listIncomingWebhooks,
  revokeIncomingWebhook,
} from "../../src/incoming-webhooks/incoming-webhooks.ts";
import { joinChannel, listMembersOf } from "../../src/members/members.ts";
import type { Vault } from "../../src/secrets/vault.ts";
import { getTeamNamed, type Team } from "../../src/teams/teams.ts";
import { scopes } from "../../src/tokens/scopes.ts";
import { createToken } from "../../src/tokens/tokens.ts";
import type { User } from "../../src/users/schemas.ts";
import type { UserRow } from "../../src/users/store.ts";
import { getUser, userResource } from "../../src/users/users.ts";
import { hasWorkspace, initWorkspace } from "../../src/workspace.ts";
import { loginName } from "../actor.ts";
import { addCommand } from "../command.ts";
import type { Invocation } from "../invocation.ts";
import { outgoing } from "../outgoing.ts";
import { serveUntilStopped } from "../serving.ts";
import { incomingUrl } from "./incoming-webhooks.ts";

/** What a first try of the platform needs. */
type Tools = { team: Team; channel: Channel; bot: User; token: string; webhook: string };

const botName = "Quickstart";

/** `parley quickstart`: from nothing to lines that can be pasted, in one command. Again, it makes fresh lines. */
export function addQuickstart(program: Command, invocation: Invocation): void {
  addCommand(program, "quickstart", {
    summary: "Make what a first try needs, print lines to paste, and serve",
    examples: ["parley quickstart"],
  }).action(async () => {
    const isNew = !hasWorkspace(invocation.dataDir);
    if (isNew) await makeWorkspace(invocation);
    // A first look is not at the log; who asks for it gets it.
    const flags = invocation.environment.PARLEY_LOG_LEVEL ? {} : { logLevel: "warn" };
    await serveUntilStopped(invocation, flags, async ({ url, database }) => {
      const team = await getTeamNamed(database.read, isNew ? undefined : invocation.options.team);
      const baseUrl = invocation.config().baseUrl || url;
      const { vault } = outgoing(invocation);
      const tools = await database.write((tx) => makeTools(tx, { team, vault, baseUrl }, invocation.actor));
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
  // Nobody has to answer anything for a first try, so without a terminal there are answers already.
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

/** Finds the bot of an earlier run, or makes it, and gives it a token of its own: earlier secrets cannot be read back. */
async function makeTools(
  tx: Writing,
  { team, vault, baseUrl }: { team: Team; vault: Vault; baseUrl: string },
  actor: string,
): Promise<Tools> {
  const general = await generalChannel(tx, team);
  const bot = await botIn(tx, team, general, actor);
  const { token } = await createToken(tx, bot, { name: "quickstart", scopes, expiresAt: null }, actor);
  const webhook = await freshWebhook(tx, vault, { bot, channel: general }, actor);
  return {
    team,
    channel: channelResource(general),
    bot: userResource(bot),
    token,
    webhook: incomingUrl(baseUrl, webhook),
  };
}

/** The URL token of a new incoming webhook; a bot has one for a channel, so that of an earlier run is revoked. */
async function freshWebhook(
  tx: Writing,
  vault: Vault,
  place: { bot: UserRow; channel: ChannelRow },
  actor: string,
): Promise<string> {
  const { bot, channel } = place;
  const earlier = (await listIncomingWebhooks(tx, bot.teamId)).find(
    (webhook) => webhook.bot.id === bot.id && webhook.channel.id === channel.id,
  );
  if (earlier) await revokeIncomingWebhook(tx, bot.teamId, earlier.id, actor);
  const input = { name: "quickstart", signed: false };
  return (await createIncomingWebhook(tx, vault, place, input, actor)).token;
}

async function generalChannel(tx: Writing, team: Team): Promise<ChannelRow> {
  const channels = await listAllChannels(tx, team.id);
  const general = channels.find((channel) => channel.is_general);
  return await getChannelNamed(tx, team.id, general?.id ?? "general");
}

async function botIn(tx: Writing, team: Team, channel: ChannelRow, actor: string): Promise<UserRow> {
  const known = (await listBots(tx, team.id)).find(({ name }) => name === botName);
  if (!known) return await createBot(tx, team.id, { name: botName, channels: [channel] }, actor);
  const bot = await getUser(tx, team.id, known.id);
  const isMember = (await listMembersOf(tx, channel)).some(({ id }) => id === bot.id);
  if (!isMember) await joinChannel(tx, channel, bot, actor);
  return bot;
}

function lines(
  { team, channel, bot, token, webhook }: Tools,
  baseUrl: string,
  { isNew, dataDir }: { isNew: boolean; dataDir: string },
): string[] {
  const messages = `${baseUrl}/api/v1/channels/${channel.id}/messages`;
  return [
    ...(isNew
      ? [`Made the workspace of ${team.name} in ${dataDir}.`]
      : [
          `The workspace of ${team.name} is there already, in ${dataDir}.`,
          "Here are a fresh token and a fresh incoming webhook for it.",
        ]),
    `The bot ${bot.name} is in #${channel.name}. Its token has every scope, and is shown once.`,
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
    "Post through the incoming webhook, which needs no token:",
    "",
    `  curl -d '{"text":"Hello from a webhook"}' ${webhook}`,
    "",
    "To see webhooks delivered to this machine, stop this and start again with",
    "",
    "  WEBHOOKS_BLOCK_PRIVATE_URLS=false parley serve",
    "",
    "and in a second terminal, where it says how to go on:",
    "",
    "  parley listen",
    "",
    `Parley is listening at ${baseUrl}`,
    "Stop it with Ctrl-C.",
  ];
}
