import { expect, test } from "bun:test";
import { openConnections } from "../../src/database/postgres/connections.ts";
import { migratePostgres } from "../../src/database/postgres/migrate.ts";
import type { DomainError } from "../../src/errors.ts";
import { createLog } from "../../src/log/log.ts";
import { Node } from "../../src/nodes/node.ts";
import { claimShards, insertNode, selectHeldShards, selectNodes } from "../../src/nodes/store.ts";
import { shardCount } from "../../src/nodes/shards.ts";
import { until } from "../support/conditions.ts";
import { freshDatabase } from "../support/postgres.ts";

// Enough that each of three nodes owns some of them.
const keys = Array.from({ length: 60 }, (_, n) => `key-${n}`);

test("a node alone owns everything, and shares it with the next", async () => {
  await using stage = await stageOfNodes();
  const a = await stage.join("a");
  expect(ownedBy(a)).toEqual(keys);
  const b = await stage.join("b");
  await until("both own a part", () => isShared([a, b]));
  expect(ownedBy(b).length).toBeGreaterThan(0);
  expect(ownedBy(a).length).toBeGreaterThan(0);
});

test("what a node owned is another's when it has left", async () => {
  await using stage = await stageOfNodes();
  const [a, b] = [await stage.join("a"), await stage.join("b")];
  await until("both own a part", () => isShared([a, b]));
  await b.node.leave();
  await until("the other owns all", () => ownedBy(a).length === keys.length);
});

test("what a node owned is another's when its process has ended", async () => {
  await using stage = await stageOfNodes();
  const [a, b] = [await stage.join("a"), await stage.join("b")];
  await until("both own a part", () => isShared([a, b]));
  const looksBefore = a.looksForWork();
  await b.crash();
  await until("the other owns all", () => ownedBy(a).length === keys.length);
  await until("it has looked for their work", () => a.looksForWork() > looksBefore);
});

test("what a node had sent before it ended is looked for once more when that must have been carried out", async () => {
  await using stage = await stageOfNodes();
  const [a, b] = [await stage.join("a"), await stage.join("b")];
  await until("both own a part", () => isShared([a, b]));
  await b.crash();
  await until("the other owns all", () => ownedBy(a).length === keys.length);
  const looksBefore = a.looksForWork();
  await until("it looks again", () => a.looksForWork() > looksBefore, { timeout_ms: 20_000 });
}, 60_000);

test("a node whose session is lost owns nothing, and joins again", async () => {
  await using stage = await stageOfNodes();
  const a = await stage.join("a");
  const [row] = await selectNodes(stage.connections);
  const looksBefore = a.looksForWork();
  await stage.connections.query("SELECT pg_terminate_backend($1)", [row?.backend]);
  await until("it owns nothing", () => ownedBy(a).length === 0);
  await until("it owns all again", () => ownedBy(a).length === keys.length);
  expect(a.looksForWork()).toBeGreaterThan(looksBefore);
  expect(await selectNodes(stage.connections)).toMatchObject([{ url: "a" }]);
});

test("what is under way ends before another node begins", async () => {
  await using stage = await stageOfNodes();
  const a = await stage.join("a");
  for (const key of keys) expect(a.node.begin(key)).toBe(true);
  const b = await stage.join("b");
  await until("the first lets go of a part", () => ownedBy(a).length < keys.length);
  const handedOver = keys.filter((key) => !a.node.owns(key));
  expect(a.node.begin(handedOver[0] ?? "")).toBe(false);
  // What has nothing under way is the other's at once.
  await until(
    "every shard is held",
    async () => (await selectHeldShards(stage.connections)).length === shardCount,
  );
  expect(ownedBy(b)).toEqual([]);

  for (const key of handedOver) a.node.end(key);
  await until("the other has that part", () => handedOver.every((key) => b.node.owns(key)));
  for (const key of ownedBy(a)) a.node.end(key);
});

test("a node that leaves hands over at once what is not under way", async () => {
  await using stage = await stageOfNodes();
  const [a, b] = [await stage.join("a"), await stage.join("b")];
  await until("both own a part", () => isShared([a, b]));
  const [busy = ""] = ownedBy(b);
  b.node.begin(busy);
  b.node.beginLeaving();
  expect(ownedBy(b)).toEqual([]);
  const shardsOfOthers = keys.filter((key) => key !== busy && !a.node.owns(key));
  await until("the other has nearly all", () => ownedBy(a).length >= keys.length - 3);
  expect(shardsOfOthers.length).toBeGreaterThan(0);
  expect(a.node.owns(busy)).toBe(false);
  b.node.end(busy);
  await until("the other has all", () => ownedBy(a).length === keys.length);
});

test("the owner hears of work that another node has written", async () => {
  await using stage = await stageOfNodes();
  const [a, b] = [await stage.join("a"), await stage.join("b")];
  await until("both own a part", () => isShared([a, b]));
  const ofA = ownedBy(a);
  b.node.tell(ofA);
  await until("it has heard", () => ofA.every((key) => a.heard.includes(key)));
  expect(b.heard).toEqual([]);
});

test("work of more subscriptions than a notice holds makes nodes look at everything", async () => {
  await using stage = await stageOfNodes();
  const a = await stage.join("a");
  const looksBefore = a.looksForWork();
  a.node.tell(Array.from({ length: 1_000 }, () => Bun.randomUUIDv7()));
  await until("it has looked", () => a.looksForWork() > looksBefore);
});

test("a sole task runs on one node at a time", async () => {
  await using stage = await stageOfNodes();
  const [a, b] = [await stage.join("a"), await stage.join("b")];
  const begun = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<string>();
  const first = a.node.alone("retention", () => {
    begun.resolve();
    return ended.promise;
  });
  await begun.promise;
  expect(await b.node.alone("retention", async () => "b")).toBeUndefined();
  ended.resolve("a");
  expect(await first).toBe("a");
  expect(await b.node.alone("retention", async () => "b")).toBe("b");
});

test("the session of a node that hangs is ended", async () => {
  await using stage = await stageOfNodes();
  await using hanging = stage.connect();
  const session = await hanging.connections.session();
  const about = { id: "hangs", hostName: "h", url: "h", version: "1", pid: 1, delivers: true };
  await insertNode(session, about);
  await claimShards(
    session,
    Array.from({ length: shardCount }, (_, shard) => shard),
  );
  await session.query("UPDATE nodes SET seen_at = 0");
  const a = await stage.join("a");
  await until("it owns all", () => ownedBy(a).length === keys.length);
  const nodes = await selectNodes(stage.connections);
  expect(nodes.map(({ url }) => url)).toEqual(["a"]);
});

test("a node that does not deliver owns nothing", async () => {
  await using stage = await stageOfNodes();
  const idle = await stage.join("idle", { delivers: false });
  const a = await stage.join("a");
  expect(ownedBy(a)).toEqual(keys);
  expect(ownedBy(idle)).toEqual([]);
  const nodes = await selectNodes(stage.connections);
  expect(nodes.map(({ url }) => url)).toEqual(["idle", "a"]);
});

test("a node that has lost its session while a newer version changed the tables says so", async () => {
  await using stage = await stageOfNodes();
  const a = await stage.join("a");
  const [row] = await selectNodes(stage.connections);
  await stage.connections.query("INSERT INTO migrations (name, applied_at) VALUES ('9999_newer', 0)");
  await stage.connections.query("SELECT pg_terminate_backend($1)", [row?.backend]);
  await until("it has said so", () => a.tooOld.length > 0);
  expect(a.tooOld[0]).toMatchObject({ code: "data_too_new" });
  expect(ownedBy(a)).toEqual([]);
});

type Joined = {
  node: Node;
  heard: string[];
  tooOld: DomainError[];
  looksForWork: () => number;
  /** Ends the process of the node, as it were: its connections. */
  crash: () => Promise<void>;
};

function ownedBy({ node }: Joined): string[] {
  return keys.filter((key) => node.owns(key));
}

/** Whether each key has an owner and all nodes own some; that no key has two is checked whenever it is asked. */
function isShared(nodes: readonly Joined[]): boolean {
  for (const key of keys) expect(nodes.filter(({ node }) => node.owns(key)).length).toBeLessThan(2);
  const counts = nodes.map((node) => ownedBy(node).length);
  return counts.every((count) => count > 0) && counts.reduce((a, b) => a + b) === keys.length;
}

async function stageOfNodes() {
  const database = await freshDatabase();
  const connect = () => {
    const connections = openConnections(database.url);
    return { connections, [Symbol.asyncDispose]: () => connections.close() };
  };
  const { connections } = connect();
  await migratePostgres(connections);
  const joined: Joined[] = [];
  const crashed = new Set<Joined>();
  return {
    connections,
    connect,
    async join(url: string, { delivers = true } = {}): Promise<Joined> {
      const own = connect();
      const heard: string[] = [];
      const tooOld: DomainError[] = [];
      let looks = 0;
      const node = new Node(own.connections, createLog("silent"));
      await node.join(
        { url, delivers },
        {
          onWork: (ids) => void heard.push(...ids),
          onWorkAnywhere() {},
          onAnyWork: () => looks++,
          onLook: () => looks++,
          onTooOld: (error) => tooOld.push(error),
        },
      );
      const one: Joined = {
        node,
        heard,
        tooOld,
        looksForWork: () => looks,
        async crash() {
          crashed.add(one);
          await own.connections.close();
        },
      };
      joined.push(one);
      return one;
    },
    async [Symbol.asyncDispose]() {
      for (const one of joined) {
        await one.node.leave();
        if (!crashed.has(one)) await one.crash();
      }
      await connections.close();
      await database[Symbol.asyncDispose]();
    },
  };
}
