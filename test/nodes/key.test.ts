import { expect, test } from "bun:test";
import { copyFileSync } from "node:fs";
import { createKeyFile, keyFile } from "../../src/secrets/key-file.ts";
import { DatabaseProxy } from "../support/database-proxy.ts";
import { type NodesStage, startNodes } from "../support/nodes.ts";
import { startServer, type TestServer } from "../support/server.ts";

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

/** What a server does to be seen by others, and what it does first to make its key the workspace's. */
const join = /^INSERT INTO nodes/;
const change = /pg_advisory_xact_lock\(/;

test("of two servers that start at the same moment with different keys, the one that is seen first goes on", async () => {
  await using stage = await startNodes(0);
  await using first = await startWithOwnKey(stage);
  const goOnToJoin = await first.held(join);
  await using second = await startWithOwnKey(stage);
  await using server = await second.started;
  goOnToJoin();
  expect(await first.refusal()).toContain("This is not the key that the server of this workspace encrypts");
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
}, 60_000);

test("a server that would change the key sees one that has joined since it looked", async () => {
  await using stage = await startNodes(0);
  await using first = await startWithOwnKey(stage);
  const goOnToJoin = await first.held(join);
  await using second = await startWithOwnKey(stage);
  const goOnToChange = await second.held(change);
  goOnToJoin();
  await using server = await first.started;
  goOnToChange();
  expect(await second.refusal()).toContain("Copy secret.key from its data folder");
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
}, 60_000);

/** A server that is starting with a key of its own, through a proxy that can hold its statements back. */
async function startWithOwnKey(stage: NodesStage) {
  const proxy = await DatabaseProxy.start(Number(new URL(stage.url).port));
  const dataDir = stage.dataDir({ hasKey: false });
  createKeyFile(dataDir);
  const start = () =>
    startServer({ dataDir, environment: { PARLEY_DATABASE_URL: proxy.through(stage.url) } });
  let started: Promise<TestServer> | undefined;
  return {
    /** Holds the next such statement back. The server begins to start with the first wait. */
    held(statement: RegExp): Promise<() => void> {
      const held = proxy.holdNext(statement, "delayed");
      started ??= start();
      started.catch(() => {});
      return held;
    },
    get started() {
      return (started ??= start());
    },
    async refusal(): Promise<string> {
      return await this.started.then(String, String);
    },
    async [Symbol.asyncDispose]() {
      await started?.then(
        (server) => server[Symbol.asyncDispose](),
        () => {},
      );
      await proxy[Symbol.asyncDispose]();
    },
  };
}
