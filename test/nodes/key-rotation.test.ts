import { expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { keyFile, newKeyFile } from "../../src/secrets/key-file.ts";
import { run, runRefused } from "../support/cli.ts";
import { until } from "../support/conditions.ts";
import { type NodesStage, startNodes } from "../support/nodes.ts";
import { startReceiver } from "../support/receivers/receiver.ts";

/** Each test starts several servers, on a machine that may be busy. */
setDefaultTimeout(120_000);

/** Runs a command in the data folder of one node. */
async function command({ url }: NodesStage, dataDir: string, ...args: string[]) {
  return await run(dataDir, args, { PARLEY_DATABASE_URL: url });
}

test("the key is rotated while two servers deliver, and no delivery waits or fails", async () => {
  await using receiver = startReceiver();
  await using stage = await startNodes(2);
  const [first, second] = stage.nodes;
  if (!first || !second) throw new Error("There are no two nodes.");
  for (let n = 0; n < 8; n++) await stage.subscribe(`${receiver.url}/${n}`);

  const refused = await runRefused(first.dataDir, ["secrets", "rotate-key"], {
    PARLEY_DATABASE_URL: stage.url,
  });
  expect(refused).toMatchObject({
    status: 2,
    message: expect.stringContaining("Another server uses this database"),
  });

  const made = join(first.dataDir, "new.key");
  writeFileSync(made, `${Buffer.alloc(32, 7).toString("base64")}\n`, { mode: 0o600 });
  copyFileSync(made, newKeyFile(second.dataDir));
  const rotated = await command(stage, first.dataDir, "secrets", "rotate-key", "--new-key-file", made);
  expect(rotated).toMatchObject({ status: 0 });
  expect(rotated.stdout).toContain("8 signing secrets are now encrypted with");
  expect(rotated.stdout).toContain("Every other server goes on with its secret.key.new");

  await stage.api(1).post(`/channels/${stage.team.general.id}/messages`, { body: "after" });
  await receiver.received(8);
  for (const node of stage.nodes) expect(node.logLines().join("\n")).not.toContain("unreadable");

  await second.restart();
  expect(readFileSync(keyFile(second.dataDir), "utf8")).toBe(readFileSync(made, "utf8"));
  expect(existsSync(newKeyFile(second.dataDir))).toBe(false);
  await second.logLine(({ msg }) => msg === "secrets.key_installed");
  await stage.api(1).post(`/channels/${stage.team.general.id}/messages`, { body: "again" });
  await until("all is delivered", () => receiver.requests.length === 16);
});
