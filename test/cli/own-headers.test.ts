import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { WebhookSubscription } from "../../src/subscriptions/schemas.ts";
import { run } from "../support/cli.ts";
import { startReceiver } from "../support/receivers/receiver.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";

let stage: WebhookStage;
beforeAll(async () => {
  stage = await startWebhookStage({ WEBHOOKS_BACKOFF_BASE: "3600" });
  // The commands need to know too that receivers may stand on this machine.
  writeFileSync(join(stage.dataDir, "parley.toml"), "webhooks_block_private_urls = false\n");
});
afterAll(async () => {
  await stage[Symbol.asyncDispose]();
});

/** Runs the command with the text on its standard input. */
async function given(text: string, ...args: string[]) {
  return await run(stage.dataDir, ["webhooks", ...args], {}, process.cwd(), new Blob([text]));
}

function createArgs(name: string, url: string): string[] {
  return ["create", "--name", name, "--url", url, "--event", "message.created"];
}

test("headers come from options, a file and standard input, and only their names are printed", async () => {
  await using receiver = startReceiver();
  using folder = temporaryFolder();
  const file = join(folder.path, "headers.txt");
  writeFileSync(file, "X-File:canary-file\r\n\r\nX-Colon: a:canary:b\n");
  const create = [...createArgs("Own", receiver.url), "--header", "X-One: canary-one", "--header-file", file];
  const made = await given("", ...create, "--json");
  expect(made.status, made.stdout).toBe(0);
  await given("", "ping", "Own");
  const change = ["edit", "Own", "--header", "x-two: canary two", "--remove-header", "X-ONE", "X-File"];
  const edited = await given("X-Input: canary-input\n", ...change, "--header-file", "-");
  expect([edited.status, edited.stdout]).toEqual([
    0,
    expect.stringContaining(", with the headers x-colon, x-input, x-two."),
  ]);
  await given("", "ping", "Own");
  const sent = receiver.requests.map(({ headers }) =>
    Object.fromEntries(Object.entries(headers.toJSON()).filter(([, value]) => value.includes("canary"))),
  );
  expect(sent).toEqual([
    { "x-one": "canary-one", "x-file": "canary-file", "x-colon": "a:canary:b" },
    { "x-two": "canary two", "x-input": "canary-input", "x-colon": "a:canary:b" },
  ]);
  const shown = await given("", "show", "Own");
  expect(shown.stdout).toContain("x-colon, x-input, x-two (values are never shown)");
  const lists = [await given("", "list", "--json"), await given("", "show", "Own", "--json")];
  const { data } = JSON.parse(lists[0]?.stdout ?? "") as { data: WebhookSubscription[] };
  expect(data.find(({ name }) => name === "Own")?.header_names).toEqual(["x-colon", "x-input", "x-two"]);
  const printed = [made, edited, shown, ...lists].map(({ stdout, stderr }) => stdout + stderr).join("");
  expect(printed).not.toContain("canary");
});

test("every request that a command makes has the headers, a forged one too", async () => {
  await using receiver = startReceiver();
  const channel = await stage.channel();
  const input = { name: "All", events: ["message.created"], channel_ids: [channel.id] };
  const subscription = await stage.subscribe(receiver, { ...input, headers: { "x-api-key": "canary" } });
  await stage.post(channel);
  await stage.drained(subscription);
  const [attempt] = (await stage.shown(subscription)).deliveries;
  const replayed = await run(stage.dataDir, ["deliveries", "replay", attempt?.id ?? ""]);
  const shown = await run(stage.dataDir, ["deliveries", "show", attempt?.id ?? "", "--json"]);
  expect(JSON.parse(shown.stdout).data.request.headers["x-api-key"]).toBe("(never shown)");
  const sample = await run(stage.dataDir, ["trigger", "message.created", "--webhook", "All"]);
  await given("", "grade", "All");
  await given("", "rotate-secret", "All", "--until-proven", "--yes");
  await given("", "rotate-secret", "All", "--until-proven", "--yes");
  expect([replayed.status, sample.status]).toEqual([0, 0]);
  // The delivery, its replay, the sample, four of the grade, and a genuine and a forged one of the proof.
  expect(receiver.requests.map(({ headers }) => headers.get("x-api-key"))).toEqual(
    Array.from({ length: 9 }, () => "canary"),
  );
});

test.each([
  ["a line end in an option", ["--header", "X-A: canary\r\nX-Injected: yes"], "", 1],
  ["a lone CR in an option", ["--header", "X-A: canary\rX-Injected: yes"], "", 1],
  ["a lone CR in the input", ["--header-file", "-"], "X-A: canary\rX-Injected: yes\n", 1],
  ["a NUL in the input", ["--header-file", "-"], "X-A: canary\0yes\n", 1],
  ["a folded line", ["--header-file", "-"], "X-A: canary\n  more canary: yes\n", 1],
  ["a space before the colon", ["--header", "X-A : canary"], "", 1],
  ["a header that is ours", ["--header", "Content-Length: 5"], "", 1],
  ["an option without a colon", ["--header", "canary"], "", 2],
  ["a line without a colon", ["--header-file", "-"], "X-A: 1\ncanary\n", 2],
  ["one name twice", ["--header", "X-A: canary", "x-a: canary"], "", 2],
  ["one name in two places", ["--header", "X-A: canary", "--header-file", "-"], "x-a: canary\n", 2],
  ["standard input for two things", ["--header-file", "-", "--secret-stdin"], "X-A: canary\n", 2],
  ["too long an input", ["--header-file", "-"], "canary".repeat(3_000), 1],
  ["a file that is not there", ["--header-file", "/nonexistent/headers"], "", 1],
])("%s is refused without being quoted, and nothing changes", async (_what, options, text, exit) => {
  const refused = await given(text, ...createArgs("Refused", "http://127.0.0.1:9/"), ...options);
  expect({ status: refused.status, stdout: refused.stdout }).toEqual({ status: exit, stdout: "" });
  expect(refused.stderr).not.toContain("canary");
  expect((await given("", "list", "--json")).stdout).not.toContain("Refused");
});

test("a header cannot be set and removed at once, nor set where nothing is sent", async () => {
  await stage.subscribe({ url: "http://127.0.0.1:9/" }, { name: "Both", headers: { "x-a": "1" } });
  const both = await given("", "edit", "Both", "--header", "X-A: canary", "--remove-header", "x-a");
  const pull = ["create", "--name", "Pull", "--pull", "--event", "message.created"];
  const pulled = await given("", ...pull, "--header", "X-A: canary");
  expect([both.status, pulled.status]).toEqual([2, 2]);
  expect(both.stderr + pulled.stderr).not.toContain("canary");
});
