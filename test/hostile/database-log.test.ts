import { expect, test } from "bun:test";
import { runJson } from "../support/cli.ts";
import { apiClient } from "../support/client.ts";
import { labelledBlocks } from "../support/documents.ts";
import { startPostgres } from "../support/postgres.ts";
import { startServer } from "../support/server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** What docs/scaling.md says about the log of the database. */
const logSettings = Object.fromEntries(
  labelledBlocks("docs/scaling.md")
    .filter(({ language }) => language === "ini")
    .flatMap(({ code }) => [...code.matchAll(/^(log_\w+) = (\w+)/gm)])
    .map(([, name = "", value = ""]) => [name, value]),
);

test("a PostgreSQL set up as documented logs no text, token or secret, even if it logs every statement", async () => {
  expect(Object.keys(logSettings).length).toBe(2);
  await using postgres = await startPostgres({
    settings: { ...logSettings, log_statement: "all", log_min_duration_statement: "0" },
  });
  using folder = temporaryFolder();
  const environment = { PARLEY_DATABASE_URL: await postgres.createDatabase("chat") };
  const cli = <Data>(...args: string[]) => runJson<Data>(folder.path, args, environment);
  await cli("init", "--team", "Acme", "--owner", "Ana");
  const { token } = await cli<{ token: string }>("tokens", "create", "--user", "Ana", "--all-scopes");
  const create = ["--name", "CI", "--url", "https://receiver.example.com/", "--event", "message.created"];
  const { secret } = await cli<{ secret: string }>("webhooks", "create", ...create);
  await using server = await startServer({ dataDir: folder.path, environment });
  const api = apiClient(server.url, token);
  const { json } = await api.get<{ data: Array<{ id: string }> }>("/channels");
  const path = `/channels/${json.data[0]?.id}/messages`;
  const message = { body: "a text for nobody else", client_uuid: crypto.randomUUID() };
  // At once, so that the database may have to refuse the one that comes second.
  const answers = await Promise.all([api.post(path, message), api.post(path, message)]);
  for (const { status } of answers) expect([200, 201]).toContain(status);
  // The refusal of a row would show all of it.
  const refused = await postgres.query("UPDATE messages SET channel_id = NULL", "chat").catch(String);
  expect(refused).toContain("violates not-null constraint");

  const log = postgres.log();
  expect(log).toContain("append_rows(");
  expect(log).toContain("violates not-null constraint");
  for (const kept of [message.body, token, secret]) expect(log).not.toContain(kept);
}, 120_000);
