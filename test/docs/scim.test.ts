import { afterAll, beforeAll, expect, test } from "bun:test";
import type { List, User } from "../support/scim-client.ts";
import { type ScimStage, scimToken, startScimStage } from "../support/scim-stage.ts";
import { labelledBlocks } from "../support/documents.ts";

const blocks = labelledBlocks("docs/scim.md");

let stage: ScimStage;

beforeAll(async () => {
  stage = await startScimStage();
});

afterAll(async () => await stage[Symbol.asyncDispose]());

/** What the lines of the document under this label print, run as they stand there. */
async function printedBy<Printed>(label: string): Promise<Printed> {
  const code = blocks.find((block) => block.label === label)?.code ?? "false";
  const env = {
    PATH: process.env.PATH ?? "",
    PARLEY_URL: stage.server.url,
    SCIM_TOKEN: scimToken,
    USER_ID: stage.owner.id,
  };
  const child = Bun.spawn(["sh", "-e", "-c", code], { env, stdout: "pipe", stderr: "pipe" });
  const [printed, status] = await Promise.all([child.stdout.text(), child.exited]);
  expect(status).toBe(0);
  return JSON.parse(printed) as Printed;
}

test("the lines that the document shows list the people", async () => {
  const { Resources } = await printedBy<List<User>>("people");
  expect(Resources.map(({ id }) => id)).toEqual([stage.owner.id]);
});

test("the lines that the document shows let the directory find an owner by an address", async () => {
  expect(await printedBy<User>("rename")).toMatchObject({ id: stage.owner.id, userName: "ada@example.com" });
  const filter = 'userName eq "ada@example.com"';
  expect((await stage.scim.list("/Users", { filter })).totalResults).toBe(1);
});
