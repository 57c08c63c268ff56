import { expect, test } from "bun:test";
import { join } from "node:path";
import { listIncomingWebhooks } from "../../src/incoming-webhooks/incoming-webhooks.ts";
import { authenticate, listTokens } from "../../src/tokens/tokens.ts";
import type { Message } from "../../src/messages/schemas.ts";
import { keys, onTerminal, runRefused, type Screen, startServing } from "../support/cli.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { openWorkspace } from "../support/workspace.ts";

const anyPort = { PARLEY_PORT: "0" };

type Started = {
  url: string;
  team: { id: string; name: string };
  channel: { id: string; name: string };
  bot: { id: string; name: string };
  token: string;
};

/** The commands that the screen shows, each with the lines that it goes on over, run as if they were pasted. */
async function pasteCommands(screen: Screen): Promise<string[]> {
  const commands = screen.text.match(/^ {2}curl .*(?:\\\n.*)*[^\\]$/gm) ?? [];
  const answers: string[] = [];
  for (const command of commands) {
    const shell = Bun.spawn(["sh", "-c", command], { stdout: "pipe", stderr: "ignore" });
    answers.push(await shell.stdout.text());
  }
  return answers;
}

test("quickstart on an empty folder asks two questions and prints commands that work as pasted", async () => {
  using folder = temporaryFolder();
  await using screen = onTerminal(join(folder.path, "data"), ["quickstart"], anyPort);
  await screen.shows("What is the team called?");
  screen.type(keys.enter);
  await screen.shows("Who owns it?");
  screen.type(`Ada${keys.enter}`);
  await screen.shows("Stop it with Ctrl-C.");
  // Nothing has gone wrong on the first start.
  expect(screen.text).not.toContain("WARN");

  const prose = screen.text.split("\n").filter((line) => !/^ {2}|data/.test(line));
  for (const line of prose) expect(Bun.stringWidth(line), line).toBeLessThanOrEqual(80);

  const [posted = "", read = "", viaWebhook] = await pasteCommands(screen);
  const { data: message } = JSON.parse(posted) as { data: Message };
  expect(message).toMatchObject({ body: "Hello from curl", author: { name: "Quickstart", type: "bot" } });
  expect((JSON.parse(read) as { data: Message[] }).data).toContainEqual(message);
  expect(viaWebhook).toBe("");
  const [, readAgain = ""] = await pasteCommands(screen);
  const bodies = (JSON.parse(readAgain) as { data: Message[] }).data.map(({ body }) => body);
  expect(bodies).toContain("Hello from a webhook");

  screen.type(keys.interrupt);
  expect(await screen.ended()).toBe(0);
});

test("quickstart run again names what it made before, which still works, and prints commands with a new token", async () => {
  using folder = temporaryFolder();
  let teamId = "";
  {
    await using workspace = await openWorkspace(folder.path);
    teamId = (await workspace.team("Acme")).id;
  }
  const screens: string[] = [];
  for (let time = 0; time < 4; time++) {
    // Its log would stand among the lines whose width is looked at.
    await using screen = onTerminal(folder.path, ["quickstart"], { ...anyPort, PARLEY_LOG_LEVEL: "silent" });
    await screen.shows("The workspace of Acme already exists in");
    await screen.shows("Stop it with Ctrl-C.");
    screens.push(screen.text);
    const prose = screen.text.split("\n").filter((line) => !/^ {2}curl|^ {4}|exists in/.test(line));
    for (const line of prose) expect(Bun.stringWidth(line), line).toBeLessThanOrEqual(80);
    const [posted, read, viaWebhook] = await pasteCommands(screen);
    if (time < 3) {
      const { data: message } = JSON.parse(posted ?? "") as { data: Message };
      expect(message.body).toBe("Hello from curl");
      expect((JSON.parse(read ?? "") as { data: Message[] }).data).toContainEqual(message);
    } else expect(posted).toBeUndefined();
    expect(viaWebhook).toBe(time === 0 ? "" : undefined);
    screen.type(keys.interrupt);
    expect(await screen.ended()).toBe(0);
  }

  const [first = "", second = "", , fourth = ""] = screens;
  expect(first).not.toContain("What quickstart made before");
  await using workspace = await openWorkspace(folder.path);
  const secrets = screens.flatMap((text) => [...new Set(text.match(/ply_bot_\w+/g) ?? [])]);
  expect(secrets).toHaveLength(3);
  for (const secret of secrets) expect(authenticate(workspace.database, secret)).toBeDefined();
  const [webhook] = await workspace.database.ask((db) => listIncomingWebhooks(db, teamId));
  expect(second).toContain(`incoming webhook ${webhook?.id}, made `);
  for (const { id } of await workspace.database.ask((db) => listTokens(db, teamId))) {
    expect(fourth).toContain(`token ${id}, made `);
  }
  expect(fourth).toContain("parley tokens revoke ID");
});

test("quickstart without a terminal asks nothing and prints one JSON document before it serves", async () => {
  using folder = temporaryFolder();
  const dataDir = join(folder.path, "data");
  await using serving = startServing(dataDir, ["quickstart", "--json"], anyPort);
  const { data } = JSON.parse(await serving.firstLine()) as { data: Started };
  const { url, team, channel, bot, token } = data;
  expect(team.name).toBe("My team");
  expect(channel.name).toBe("general");
  const response = await fetch(`${url}/api/v1/channels`, { headers: { authorization: `Bearer ${token}` } });
  expect(await response.json()).toMatchObject({ data: [{ id: channel.id }] });
  {
    await using workspace = await openWorkspace(dataDir);
    expect(await workspace.database.ask((db) => listTokens(db, team.id))).toMatchObject([{ user: bot }]);
  }
  expect(await serving.stop()).toEqual({ status: 0, rest: "" });
});

test("quickstart creates the workspace where an earlier init failed and left none", async () => {
  using folder = temporaryFolder();
  await runRefused(folder.path, ["init", "--team", "!!!", "--owner", "Ada"]);
  await using serving = startServing(folder.path, ["quickstart", "--json"], anyPort);
  const { data } = JSON.parse(await serving.firstLine()) as { data: Started };
  expect(data.team.name).toBe("My team");
  expect(await serving.stop()).toEqual({ status: 0, rest: "" });
});
