import { type Command, Option } from "commander";
import { theOnlyWithId } from "../../src/input/reference.ts";
import { scopes } from "../../src/tokens/scopes.ts";
import { createToken, listTokens, revokeToken, type Token } from "../../src/tokens/tokens.ts";
import { now } from "../../src/system/repeatable.ts";
import { isTeamAdmin } from "../../src/subject.ts";
import { getUser, getUserNamed } from "../../src/users/users.ts";
import { addCommand } from "../invocation/command.ts";
import { parseDuration } from "../invocation/durations.ts";
import type { InTeam, Invocation } from "../invocation/invocation.ts";
import { userReference } from "../invocation/references.ts";
import { addLeaked } from "./leaked-tokens.ts";
import { addTokensAdvise } from "./tokens-advise.ts";
import { relativeTime } from "../terminal/relative-time.ts";

type CreateOptions = {
  bot?: string;
  user?: string;
  scope?: string[];
  allScopes?: true;
  name?: string;
  /** In milliseconds. */
  expires?: number;
};

/** `parley tokens`: the bearer tokens of the REST API. */
export function addTokens(program: Command, invocation: Invocation): void {
  const noun = addCommand(program, "tokens", {
    summary: "List, create and revoke API tokens; find leaked and forgotten ones",
    examples: ["parley tokens list"],
  });
  addList(noun, invocation);
  addCreate(noun, invocation);
  addRevoke(noun, invocation);
  addLeaked(noun, invocation);
  addTokensAdvise(noun, invocation);
}

function addList(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "list", {
    summary: "List active tokens, newest first",
    examples: ["parley tokens list"],
  });
  invocation.teamAction(command, async ({ database, team }) => {
    invocation.output.list(
      await database.ask((db) => listTokens(db, team.id)),
      [
        { title: "NAME", of: ({ name }) => name, canShrink: true },
        { title: "USER", of: ({ user }) => user.name, canShrink: true },
        { title: "SCOPES", of: shortScopes },
        { title: "EXPIRES", of: ({ expires_at }) => relativeTime(expires_at) },
        { title: "USED", of: ({ last_used_at }) => relativeTime(last_used_at) },
        { title: "ID", of: ({ id }) => id },
      ],
      { none: "There is no token yet.", next: "parley tokens create" },
    );
  });
}

function addCreate(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "create", {
    summary: "Create a token for a bot or a person; it is shown once",
    examples: [
      'parley tokens create --bot "Build Bot" --scope messages:write --expires 90d',
      'TOKEN=$(parley tokens create --user "Ada Lovelace" --all-scopes --quiet)',
    ],
  })
    .addOption(new Option("--bot <bot>", "the bot that the token acts as").conflicts("user"))
    .option("--user <user>", "the person that the token acts as")
    .addOption(
      new Option("--scope <scope...>", "grant a scope; repeatable").choices(scopes).conflicts("allScopes"),
    )
    .option("--all-scopes", "grant all scopes")
    .option("--name <label>", "a label (default: the user's name)")
    .option("--expires <span>", "time until it expires: 12h, 90d, 8w (default: never)", parseDuration);
  invocation.teamAction(command, async (at, options: CreateOptions) => {
    const { database, team } = at;
    const reference = await userReference(invocation, at, options.bot ?? options.user, {
      question: "Who does the token act as?",
      option: "--bot BOT or --user USER",
    });
    const granted = await invocation.prompts.choices(options.allScopes ? scopes : options.scope, {
      question: "What may it do?",
      option: "--scope SCOPE or --all-scopes",
      words: scopes,
    });
    const bearer = await database.ask((db) =>
      getUserNamed(db, team.id, reference, { type: kindOf(options) }),
    );
    if (granted.includes("webhooks:write") && !isTeamAdmin(bearer)) {
      await confirmWebhooks(invocation, bearer.name);
    }
    const expiresAt = options.expires === undefined ? null : now() + options.expires;
    const token = await database.write(async (tx) => {
      const user = await getUser(tx, team.id, bearer.id);
      return await createToken(
        tx,
        user,
        { name: options.name ?? user.name, scopes: granted, expiresAt },
        invocation.actor,
      );
    });
    invocation.output.done({
      data: token,
      said: [
        `Created a token that acts as ${token.user.name}${expiry(token)}.`,
        "It is shown only once:",
        "",
        `  ${token.token}`,
        "",
      ],
      brief: token.token,
      ...(granted.includes("channels:read") && {
        next: `curl -H "Authorization: Bearer TOKEN" ${invocation.baseUrl}/api/v1/channels`,
      }),
    });
  });
}

/**
 * Warns that webhooks:write lets a user who is no team admin read more than they otherwise could; asks on a terminal.
 * @throws Cancelled.
 */
async function confirmWebhooks(invocation: Invocation, name: string): Promise<void> {
  const { output, prompts } = invocation;
  const { notes, question } =
    invocation.visibility.webhooksVisibility === "creator" ? seenOpens(name) : workspaceOpens(name);
  for (const note of notes) output.note(note);
  if (prompts.canAsk) await prompts.confirm(question);
}

function workspaceOpens(name: string) {
  return {
    notes: [
      `With webhooks:write, the messages of the whole workspace are sent to any URL that ${name} registers, ` +
        "including private channels and direct messages.",
      `WEBHOOKS_VISIBILITY=creator narrows that to the channels that ${name} may see.`,
    ],
    question: `Grant webhooks:write, and with it the messages of the whole workspace, to ${name}?`,
  };
}

function seenOpens(name: string) {
  return {
    notes: [
      `With webhooks:write, the messages of the channels that ${name} may see are sent to any URL that ` +
        `${name} registers.`,
      "If WEBHOOKS_VISIBILITY is no longer creator, that becomes the messages of the whole workspace.",
    ],
    question: `Grant webhooks:write, and with it the messages of the channels that ${name} may see?`,
  };
}

function addRevoke(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "revoke [id]", {
    summary: "Revoke a token: it stops working immediately",
    examples: ["parley tokens revoke 0199e7a4-5c1b-7e2a-9d3f-6b8a1c2d4e5f --yes"],
  });
  invocation.teamAction(command, async (at, given?: string) => {
    const token = await chosenToken(invocation, at, given);
    await invocation.prompts.confirm(`Revoke the token ${token.name} of ${token.user.name}?`);
    await at.database.write((tx) => revokeToken(tx, at.team.id, token.id, invocation.actor));
    invocation.output.done({
      data: token,
      said: `Revoked the token ${token.name} of ${token.user.name}.`,
      brief: token.id,
      next: "parley tokens list",
    });
  });
}

async function chosenToken(
  { prompts }: Invocation,
  { database, team }: InTeam,
  given: string | undefined,
): Promise<Token> {
  const tokens = await database.ask((db) => listTokens(db, team.id));
  const id = await prompts.choice(given, {
    question: "Which token?",
    option: "ID",
    choices: () => tokens.map((token) => ({ value: token.id, label: token.name, hint: `${token.prefix}…` })),
  });
  return theOnlyWithId(tokens, "token", id);
}

function kindOf({ bot, user }: CreateOptions): "bot" | "human" | undefined {
  if (bot !== undefined) return "bot";
  return user === undefined ? undefined : "human";
}

function shortScopes(token: Token): string {
  return token.scopes.length === scopes.length ? "all" : `${token.scopes.length} of ${scopes.length}`;
}

function expiry({ expires_at }: Token): string {
  return expires_at === null ? " and never expires" : ` and expires ${relativeTime(expires_at)}`;
}
