import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { parleyProgram } from "../../cli/program.ts";
import { addEmoji } from "../../src/emoji/emoji.ts";
import { createIncomingWebhook } from "../../src/incoming-webhooks/incoming-webhooks.ts";
import { listRefusedPosts } from "../../src/incoming-webhooks/refused-posts.ts";
import { findKey } from "../../src/secrets/key-file.ts";
import { Vault } from "../../src/secrets/vault.ts";
import { deactivate } from "../../src/accounts/people.ts";
import { run } from "../support/cli.ts";
import { until } from "../support/conditions.ts";
import { startReceiver } from "../support/receivers/receiver.ts";
import { actor } from "../support/workspace.ts";
import { type PermissionStage, startPermissionStage } from "../support/permission-stage.ts";

/** With `--team` of one team, no command takes what is of another: by its id, and where it has one by its name. */
let stage: PermissionStage;
/** What is of the other team: its id, and its name. */
let foreign: Record<string, { id: string; name?: string }>;
/** What is of the team that the commands are about. */
let own: Record<string, string>;

/**
 * Every argument and option that names something of a team, and a command with it: `{…}` is what it names, by what it is;
 * `own …` is what is of the team.
 */
const commands: ReadonlyArray<[verb: string, reference: string, rest: string]> = [
  ["teams notify", "channel", "--channel {channel}"],
  ["channels show", "channel", "{channel}"],
  ["channels members", "channel", "{channel}"],
  ["channels archive", "channel", "{channel}"],
  ["channels unarchive", "channel", "{archived}"],
  ["channels add-member", "channel", "{channel} own-user"],
  ["channels add-member", "user", "own-channel {user}"],
  ["channels remove-member", "channel", "{channel} own-user"],
  ["channels remove-member", "user", "own-channel {user}"],
  ["channels create", "as", "--name new --visibility public --as {user}"],
  ["channels direct", "user", "{user} own-user"],
  ["channels direct", "other", "own-user {user}"],
  ["messages list", "channel", "{channel}"],
  ["messages show", "id", "{message}"],
  ["messages post", "channel", "{channel} hello --as own-user"],
  ["messages post", "as", "own-channel hello --as {user}"],
  ["messages tail", "channel", "{channel}"],
  ["users set-role", "user", "{user} member"],
  ["users deactivate", "user", "{user}"],
  ["users reactivate", "user", "{gone}"],
  ["bots create", "channel", "--name new --channel {channel}"],
  ["bots delete", "bot", "{bot}"],
  ["tokens create", "bot", "--all-scopes --bot {bot}"],
  ["tokens create", "user", "--all-scopes --user {user}"],
  ["tokens revoke", "id", "{token}"],
  ["incoming-webhooks create", "bot", "--bot {bot} --channel own-channel"],
  ["incoming-webhooks create", "channel", "--bot own-bot --channel {channel}"],
  ["incoming-webhooks inspect", "id", "{incoming}"],
  ["incoming-webhooks inspect", "post", "own-incoming {refused}"],
  ["incoming-webhooks resend", "id", "{incoming} 0199e7a4"],
  ["incoming-webhooks resend", "post", "own-incoming {refused}"],
  ["incoming-webhooks revoke", "id", "{incoming}"],
  ["incoming-webhooks rotate-secret", "id", "{incoming}"],
  ["incoming-webhooks rotate-url", "id", "{incoming}"],
  ["webhooks show", "webhook", "{webhook}"],
  ["webhooks waiting", "webhook", "{webhook}"],
  [
    "webhooks create",
    "channel",
    "--name new --url http://127.0.0.1:9/ --event message.created --channel {channel}",
  ],
  ["webhooks edit", "webhook", "{webhook} --name new"],
  ["webhooks edit", "channel", "own-webhook --channel {channel}"],
  ["webhooks delete", "webhook", "{webhook}"],
  ["webhooks enable", "webhook", "{webhook}"],
  ["webhooks disable", "webhook", "{webhook}"],
  ["webhooks rotate-secret", "webhook", "{webhook}"],
  ["webhooks ping", "webhook", "{webhook}"],
  ["webhooks grade", "webhook", "{webhook}"],
  ["deliveries list", "webhook", "--webhook {webhook}"],
  ["deliveries list", "message", "--message {message}"],
  ["deliveries held", "webhook", "--webhook {webhook}"],
  ["deliveries release", "webhook", "--webhook {webhook}"],
  ["deliveries discard", "webhook", "--webhook {webhook}"],
  ["deliveries show", "id", "{attempt}"],
  ["deliveries replay", "id", "{attempt}"],
  ["deliveries replay", "webhook", "--failed --since 1h --webhook {webhook}"],
  ["deliveries explain", "id", "{attempt}"],
  ["deliveries explain", "webhook", "own-message --webhook {webhook}"],
  ["emoji remove", "name", "{emoji}"],
];

/** Arguments and options with a value that names nothing which is there already, or no resource of a team. */
const plain = new Set(
  "action email event expires file for header headerFile image limit name newKeyFile overlap preview removeHeader role scope since team text topic type until url visibility".split(
    " ",
  ),
);

beforeAll(async () => {
  stage = await startPermissionStage();
  const { workspace, cast, server } = stage;
  const { database } = workspace;
  await using receiver = startReceiver();

  const bot = await workspace.bot(cast.otherTeamId, "Umbrella Bot", [cast.elsewhere]);
  const gone = await workspace.person(cast.otherTeamId, "Gus Gone");
  await database.write((tx) => deactivate(tx, gone, actor));
  const archived = await workspace.channel(cast.outsider, "umbrella archive");
  await workspace.archive(archived);
  const vault = new Vault(findKey(server.dataDir, ""));
  const incoming = await database.write((tx) =>
    createIncomingWebhook(tx, vault, { bot, channel: cast.elsewhere }, { name: "in", signed: true }, actor),
  );
  const ofOwnBot = { bot: cast.bot, channel: cast.open };
  const ownIncoming = await database.write((tx) =>
    createIncomingWebhook(tx, vault, ofOwnBot, { name: "own", signed: false }, actor),
  );
  await fetch(`${server.url}/webhooks/incoming/${incoming.token}`, { method: "POST", body: "{}" });
  const refused = await database.ask((db) => listRefusedPosts(db, vault, incoming.id));
  await database.write((tx) => addEmoji(tx, cast.otherTeamId, { name: "umbrella" }, actor));

  const outsider = await stage.as(cast.outsider);
  const subscription = { name: "Umbrella hook", url: receiver.url, events: ["message.created"] };
  const subscribed = await outsider.post<{ data: { id: string } }>("/webhooks", subscription);
  const webhook = subscribed.json.data.id;
  const posted = await outsider.post<{ data: { id: string } }>(`/channels/${cast.elsewhere.id}/messages`, {
    body: "delivered",
  });
  const attempt = await until("the delivery is logged", async () => {
    const { json } = await outsider.get<{ data: { deliveries: Array<{ id: string }> } }>(
      `/webhooks/${webhook}`,
    );
    return json.data.deliveries[0]?.id;
  });

  foreign = {
    channel: { id: cast.elsewhere.id, name: cast.elsewhere.name },
    archived: { id: archived.id, name: archived.name },
    user: { id: cast.outsider.id, name: cast.outsider.name },
    gone: { id: gone.id, name: gone.name },
    bot: { id: bot.id, name: bot.name },
    token: { id: (await workspace.token(cast.outsider)).id },
    incoming: { id: incoming.id },
    refused: { id: refused[0]?.id ?? "" },
    webhook: { id: webhook, name: subscription.name },
    attempt: { id: attempt },
    message: { id: posted.json.data.id },
    emoji: { id: "umbrella" },
  };
  const [owner, member] = [await stage.client("owner"), await stage.client("bot")];
  const made = { ...subscription, name: "own", events: ["message.deleted"] };
  const ofOwn = await owner.post<{ data: { id: string } }>("/webhooks", made);
  const said = await member.post<{ data: { id: string } }>(`/channels/${cast.open.id}/messages`, {
    body: "own",
  });
  own = {
    "own-webhook": ofOwn.json.data.id,
    "own-message": said.json.data.id,
    "own-channel": cast.secret.id,
    "own-user": cast.stranger.id,
    "own-bot": cast.bot.id,
    "own-incoming": ownIncoming.id,
  };
});
afterAll(() => stage[Symbol.asyncDispose]());

describe.each(commands)("parley %s, by its %s,", (verb, _reference, rest) => {
  test("finds nothing of another team, and reports it like something that does not exist", async () => {
    const kind = /\{(\w+)\}/.exec(rest)?.[1] ?? "";
    const runWith = async (named: string) => {
      const words = [...verb.split(" "), ...rest.split(" ")].map((word) => own[word] ?? word);
      const args = words.map((word) => (word === `{${kind}}` ? named : word));
      const { status, stdout } = await run(
        stage.server.dataDir,
        ["--team", "acme", "--yes", "--json", ...args],
        {
          WEBHOOKS_BLOCK_PRIVATE_URLS: "false",
        },
      );
      return { status, said: stdout.replaceAll(named, "…") };
    };
    const { id, name } = foreign[kind] ?? { id: "" };
    await stage.changingNothing(async () => {
      const [unknown, ...answers] = await Promise.all(
        [kind === "emoji" ? "nothing" : Bun.randomUUIDv7(), id, ...(name === undefined ? [] : [name])].map(
          runWith,
        ),
      );
      expect(unknown?.status, unknown?.said).toBe(3);
      for (const answer of answers) expect(answer).toEqual(unknown as typeof answer);
    });
  });
});

test("these tests cover every argument and option of the commands that names something of a team", () => {
  const found = parleyProgram({}).commands.flatMap((noun) =>
    noun.commands.flatMap((verb) => {
      const path = `${noun.name()} ${verb.name()}`;
      const names = [
        ...verb.registeredArguments.map((argument) => argument.name()),
        ...verb.options.filter(({ required }) => required).map((option) => option.attributeName()),
      ];
      return names
        .filter((name) => !plain.has(name) || path === "emoji remove")
        .map((name) => `${path} ${name}`);
    }),
  );
  const tested = commands.map(([verb, reference]) => `${verb} ${reference}`);
  expect(found.sort()).toEqual(tested.sort());
});
