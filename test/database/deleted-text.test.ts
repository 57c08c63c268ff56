import { expect, test } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { runJson } from "../support/cli.ts";
import { apiClient } from "../support/client.ts";
import { startServer } from "../support/server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

test("a checkpoint leaves no deleted or edited text in the database file", async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "parley.db");
  await runJson(folder.path, ["init", "--team", "Acme", "--owner", "Ada"]);
  const create = ["tokens", "create", "--user", "Ada", "--all-scopes"];
  const { token } = await runJson<{ token: string }>(folder.path, create);
  const channels = await runJson<Array<{ id: string }>>(folder.path, ["channels", "list"]);
  const messages = `/channels/${channels[0]?.id}/messages`;
  await using server = await startServer({ dataDir: folder.path });
  /** Which of the texts the file contains. The clean shutdown has checkpointed the WAL. */
  const kept = async (texts: string[]): Promise<boolean[]> => {
    expect(await server.stop()).toBe(0);
    expect(statSync(`${file}-wal`).size).toBe(0);
    const bytes = readFileSync(file);
    await server.start();
    return texts.map((text) => bytes.includes(text));
  };

  // The last texts need pages of their own, the first ones share theirs. The test looks for their starts and ends.
  const texts = [10, 100, 1_000, 5_000, 7_900].map(
    (length) => crypto.randomUUID() + "x".repeat(length) + crypto.randomUUID(),
  );
  const parts = texts.flatMap((text) => [text.slice(0, 36), text.slice(-36)]);
  const before = apiClient(server.url, token);
  const ids: string[] = [];
  for (const body of texts) {
    const posted = await before.post<{ data: { id: string } }>(messages, { body });
    expect(posted.status).toBe(201);
    ids.push(posted.json.data.id);
  }
  expect(await kept(parts)).toEqual(parts.map(() => true));

  const after = apiClient(server.url, token);
  const [edited, ...deleted] = ids;
  expect((await after.patch(`${messages}/${edited}`, { body: "Never mind." })).status).toBe(200);
  for (const id of deleted) expect((await after.del(`${messages}/${id}`)).status).toBe(204);
  expect(await kept(["Never mind.", ...parts])).toEqual([true, ...parts.map(() => false)]);
});
