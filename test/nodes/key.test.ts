import { expect, test } from "bun:test";
import { copyFileSync } from "node:fs";
import { createKeyFile, keyFile } from "../../src/secrets/key-file.ts";
import { startNodes } from "../support/nodes.ts";
import { startServer } from "../support/server.ts";

test("a server with another key than those that run, or without one, refuses to start until it has theirs", async () => {
  await using stage = await startNodes(1);
  const [node] = stage.nodes;
  if (!node) throw new Error("There is no node.");
  const dataDir = stage.dataDir({ hasKey: false });
  const start = () => startServer({ dataDir, environment: { PARLEY_DATABASE_URL: stage.url } });
  const refusal = () => start().then(String, String);

  expect(await refusal()).toContain("Copy secret.key from its data folder");
  createKeyFile(dataDir);
  expect(await refusal()).toContain("Copy secret.key from its data folder");

  copyFileSync(keyFile(node.dataDir), keyFile(dataDir));
  await using server = await start();
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
}, 120_000);
