import { afterAll, beforeAll, expect, test } from "bun:test";
import { createIncomingWebhook } from "../../src/incoming-webhooks/incoming-webhooks.ts";
import type { LeakedSecret } from "../../src/leaked-secrets.ts";
import { findKey } from "../../src/secrets/key-file.ts";
import { newSecret } from "../../src/secrets/secret-text.ts";
import { Vault } from "../../src/secrets/vault.ts";
import { environmentOf } from "../support/engine.ts";
import { keys, onTerminal, type Ran, run, runJson } from "../support/cli.ts";
import { parley } from "../support/server.ts";
import { type TemporaryFolder, temporaryFolder } from "../support/temporary-folder.ts";
import { actor, openWorkspace, type Workspace } from "../support/workspace.ts";

let folder: TemporaryFolder;
let workspace: Workspace;
let team: Awaited<ReturnType<Workspace["team"]>>;
beforeAll(async () => {
  folder = temporaryFolder();
  workspace = await openWorkspace(folder.path);
  team = await workspace.team("Acme");
});
afterAll(async () => {
  await workspace[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

/** For one test, in milliseconds: each runs several commands. */
const generousMs = 60_000;

const leaked = ["tokens", "leaked"];

/** Runs the command with that on its standard input. */
async function piped(text: string, ...args: string[]): Promise<Ran> {
  const child = Bun.spawn([parley, "--data-dir", folder.path, ...leaked, ...args], {
    env: { PATH: process.env.PATH ?? "", ...environmentOf(folder.path) },
    stdin: new Blob([text]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, status] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ]);
  return { status, stdout, stderr };
}

function dataOf({ stdout }: Ran): LeakedSecret[] {
  return (JSON.parse(stdout) as { data: LeakedSecret[] }).data;
}

/** A secret of each kind that works, each by its name. */
async function secretsOfEachKind(name: string) {
  const channel = await workspace.channel(team.owner, name);
  const bot = await workspace.bot(team.id, name, [channel]);
  const [{ token: botToken }, { token: personal }] = [
    await workspace.token(bot, "messages:write", "channels:read"),
    await workspace.token(team.owner, "messages:read"),
  ];
  const vault = new Vault(findKey(folder.path, ""));
  const incoming = await workspace.database.write((tx) =>
    createIncomingWebhook(tx, vault, { bot, channel }, { name, signed: true }, actor),
  );
  const create = [
    "webhooks",
    "create",
    "--name",
    name,
    "--url",
    "https://1.1.1.1/",
    "--event",
    "message.created",
  ];
  const subscription = await runJson<{ id: string; secret: string }>(folder.path, create);
  return { botToken, personal, incoming, subscription, secret: incoming.secret ?? "" };
}

test(
  "secrets are found in any text and told apart, with what they open; none is printed in full",
  async () => {
    const made = await secretsOfEachKind("found");
    const { botToken, personal, incoming, subscription, secret } = made;
    const unknown = newSecret("ply_bot_");
    const all = [botToken, personal, incoming.token, subscription.secret, secret, unknown];
    const text =
      `+ TOKEN=${botToken}"\\nand ${personal}and so on\n+POST /webhooks/incoming/${incoming.token}/slack\n` +
      `{"secret":"${subscription.secret}","other":"${secret}"} ${unknown} ${botToken}\n` +
      `${botToken.slice(0, -1)}? whsec_short ply_pat_`;

    const ran = await piped(text, "-", "--json");
    expect(ran.status).toBe(1);
    expect(dataOf(ran)).toMatchObject([
      {
        kind: "bot_token",
        status: "active",
        prefix: botToken.slice(0, 12),
        user: "found",
        team: "acme",
        scopes: ["messages:write", "channels:read"],
        last_used_at: null,
      },
      { kind: "personal_token", status: "active", user: "Acme owner", scopes: ["messages:read"] },
      {
        kind: "incoming_webhook",
        status: "active",
        target: `incoming_webhook:${incoming.id}`,
        opens: "posting into found, with a signature",
      },
      {
        kind: "signing_secret",
        status: "active",
        target: `webhook:${subscription.id}`,
        remedy: `parley webhooks rotate-secret ${subscription.id}`,
      },
      {
        kind: "signing_secret",
        target: `incoming_webhook:${incoming.id}`,
        remedy: `parley incoming-webhooks rotate-secret ${incoming.id}`,
      },
      { kind: "bot_token", status: "unknown", target: null, prefix: unknown.slice(0, 12) },
    ]);
    const forPeople = await piped(text);
    expect(forPeople.status).toBe(1);
    expect(forPeople.stdout).toContain("not of this workspace");
    expect(forPeople.stderr).toContain("5 of them still work.");
    for (const { stdout, stderr } of [ran, forPeople]) {
      for (const each of all) expect(stdout + stderr).not.toContain(each.slice(0, -8));
    }
  },
  generousMs,
);

test(
  "tokens and addresses are revoked where asked, signing secrets are to be rotated, and then all is well",
  async () => {
    const { botToken, incoming, subscription } = await secretsOfEachKind("revoked");
    const text = `${botToken} ${incoming.token} ${subscription.secret}`;
    const unconfirmed = await piped(text, "--revoke");
    expect(unconfirmed).toMatchObject({ status: 2, stdout: "" });
    expect(dataOf(await piped(text, "--json")).map(({ status }) => status)).toEqual([
      "active",
      "active",
      "active",
    ]);

    const revoked = await piped(text, "-", "--revoke", "--yes", "--json");
    expect(revoked.status).toBe(1);
    expect(dataOf(revoked).map(({ status }) => status)).toEqual(["inactive", "inactive", "active"]);
    const actions = await runJson<Array<{ action: string }>>(folder.path, ["audit", "list", "--limit", "2"]);
    expect(actions.map(({ action }) => action).toSorted()).toEqual([
      "incoming_webhook.revoked",
      "token.revoked",
    ]);

    // During an overlap the old secret still signs.
    const rotate = ["webhooks", "rotate-secret", subscription.id, "--yes"];
    await runJson(folder.path, [...rotate, "--overlap", "1h"]);
    expect(dataOf(await piped(text, "--json"))[2]).toMatchObject({ status: "active" });
    await runJson(folder.path, rotate);
    const after = await piped(text, "--json");
    expect(after.status).toBe(0);
    expect(
      dataOf(after)
        .slice(0, 2)
        .map(({ status }) => status),
    ).toEqual(["inactive", "inactive"]);
    expect(dataOf(after)[2]).toMatchObject({ status: "unknown" });
  },
  generousMs,
);

test(
  "a secret is found wherever it stands in a text of megabytes, and a text without one is fine",
  async () => {
    const { token } = await workspace.token(team.owner, "messages:read");
    const secrets = Array.from({ length: 40 }, () => newSecret("ply_in_"));
    // Wherever the input is cut into parts, some secrets stand across the cuts.
    const filler = "a log line with ply_bot_ in it\n".repeat(2_500);
    const text = secrets.map((secret, nth) => filler.slice(nth * 7) + secret).join("") + token;
    const found = dataOf(await piped(text, "--json"));
    expect(found.map(({ prefix }) => prefix)).toEqual([
      ...secrets.map((secret) => secret.slice(0, 11)),
      token.slice(0, 12),
    ]);
    expect(await piped(filler)).toEqual({
      status: 0,
      stdout: "",
      stderr: "There is no secret of Parley's format in it.\n",
    });
    expect(await piped("", "-")).toMatchObject({ status: 0 });
    expect(await run(folder.path, [...leaked, token])).toMatchObject({ status: 1 });
  },
  generousMs,
);

test(
  "on a terminal the table fits, and nothing is revoked before the answer",
  async () => {
    const { botToken, incoming } = await secretsOfEachKind("a name that is rather long for a column");
    const text = `${botToken} ${incoming.token}`;
    await using screen = onTerminal(folder.path, [...leaked, text, "--revoke"]);
    await screen.shows("Revoke 2 secrets? Whatever uses them stops working.");
    expect(dataOf(await piped(text, "--json")).map(({ status }) => status)).toEqual(["active", "active"]);
    screen.type(`y${keys.enter}`);
    expect(await screen.ended()).toBe(0);
    expect(screen.text).toContain("Revoked 2 secrets.");
    expect(screen.text).not.toContain(botToken.slice(0, -8));
    const table = screen.text.split("\n").filter((line) => /^(SECRET|ply_)/.test(line));
    expect(table).toHaveLength(3);
    for (const line of table) expect(line.length).toBeLessThanOrEqual(80);
  },
  generousMs,
);
