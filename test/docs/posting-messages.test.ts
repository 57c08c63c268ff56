import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createIncomingWebhook } from "../../src/incoming-webhooks/incoming-webhooks.ts";
import type { Message } from "../../src/messages/schemas.ts";
import { findKey } from "../../src/secrets/key-file.ts";
import { Vault } from "../../src/secrets/vault.ts";
import type { ApiClient } from "../support/client.ts";
import { labelledBlocks } from "../support/documents.ts";
import { type Stage, startStage } from "../support/stage.ts";
import { actor } from "../support/workspace.ts";

const blocks = labelledBlocks("docs/posting-messages.md");

let stage: Stage;
let reader: ApiClient;
let environment: Record<string, string>;
let messagesPath: string;

beforeAll(async () => {
  stage = await startStage();
  const { workspace, server } = stage;
  const team = await workspace.team("Documented");
  const vault = new Vault(findKey(server.dataDir, ""));
  const address = async (name: string, signed: boolean) => {
    const bot = await workspace.bot(team.id, name, [team.general]);
    const parts = { bot, channel: team.general };
    return await workspace.database.write((tx) =>
      createIncomingWebhook(tx, vault, parts, { name, signed }, actor),
    );
  };
  const plain = await address("plain", false);
  const signed = await address("signed", true);
  const bot = await workspace.bot(team.id, "poster", [team.general]);
  reader = await stage.as(team.owner);
  messagesPath = `/channels/${team.general.id}/messages`;
  environment = {
    PATH: process.env.PATH ?? "",
    PARLEY_URL: server.url,
    PARLEY_TOKEN: (await workspace.token(bot)).token,
    CHANNEL_ID: team.general.id,
    WEBHOOK_URL: `${server.url}/webhooks/incoming/${plain.token}`,
    WEBHOOK_SECRET: signed.secret ?? "",
    SIGNED_WEBHOOK_URL: `${server.url}/webhooks/incoming/${signed.token}`,
  };
});

afterAll(async () => {
  await stage[Symbol.asyncDispose]();
});

/** The newest message of the channel after the lines of the document were run as they stand there. */
async function newestAfter(command: string[], code: string, extra: Record<string, string> = {}) {
  const child = Bun.spawn([...command, code], {
    env: { ...environment, ...extra },
    stdout: "pipe",
    stderr: "pipe",
  });
  expect(await child.exited).toBe(0);
  const page = await reader.get<{ data: Message[] }>(messagesPath);
  return page.json.data[0];
}

describe("the lines that the document shows for the shell", () => {
  const post = blocks.filter(({ label }) => label === "post").map(({ code }) => code);

  test("post a message", async () => {
    expect(await newestAfter(["sh", "-c"], post[0] ?? "")).toMatchObject({ body: "Build 42 passed" });
  });

  test("post a message under another name and picture", async () => {
    const picture = "https://example.com/disk.png";
    expect(await newestAfter(["sh", "-c"], post[1] ?? "")).toMatchObject({
      username: "Disk watch",
      icon_url: picture,
    });
  });

  test("post a signed message", async () => {
    const code = blocks.find(({ label }) => label === "signed")?.code ?? "";
    const signedUrl = { WEBHOOK_URL: environment.SIGNED_WEBHOOK_URL ?? "" };
    expect(await newestAfter(["sh", "-c"], code, signedUrl)).toMatchObject({
      body: "Signed, sealed, delivered",
    });
  });

  test("post a message through the REST API", async () => {
    const code = blocks.find(({ label }) => label === "api")?.code ?? "";
    expect(await newestAfter(["sh", "-c"], code)).toMatchObject({ body: "Hello from curl" });
  });
});

test("the lines that the document shows for Slack's library post a message", async () => {
  const code = blocks.find(({ label }) => label === "slack")?.code ?? "";
  expect(await newestAfter(["bun", "-e"], code)).toMatchObject({ body: "Deployed", username: "Deployer" });
});
