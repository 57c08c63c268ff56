import { expect } from "bun:test";
import { webhookEvents } from "../../src/event-types.ts";
import { type ApiClient, apiClient } from "../support/client.ts";
import { until } from "../support/conditions.ts";
import { DatabaseProxy } from "../support/database-proxy.ts";
import { makeWorkspace, type Nodes, startNodes } from "../support/proxied-nodes.ts";
import { freshDatabase, type TestPostgres } from "../support/postgres.ts";
import { WildReceiver } from "../support/receivers/wild-receiver.ts";
import type { TestServer } from "../support/server.ts";
import { expectEveryChangeDelivered, expectWhole, undone } from "./accounts.ts";
import { Sender } from "./load.ts";
import { makePlayground, type Playground } from "./playground.ts";
import { PostgresRows } from "./postgres-rows.ts";
import { Random } from "./random.ts";
import { subscribe, type Subscribed } from "./subscribed.ts";

const sendersCount = 6;

/** The report of `/readyz`, or of `/healthz`. */
type Health = { status: number; text: string };

/**
 * A server under load with a receiver that never fails, and between it and its PostgreSQL a proxy that does when a test
 * asks for it: `await using stage = await startDatabaseStage()`.
 */
export class DatabaseStage implements AsyncDisposable {
  readonly proxy: DatabaseProxy;
  readonly playground: Playground;
  /** The address of the database, past the proxy. */
  readonly url: string;
  readonly senders: readonly Sender[];
  readonly #subscribed: Subscribed;
  readonly #nodes: Nodes;
  readonly #database: AsyncDisposable;

  constructor(
    parts: Pick<DatabaseStage, "proxy" | "playground" | "url" | "senders"> & {
      nodes: Nodes;
      subscribed: Subscribed;
      database: AsyncDisposable;
    },
  ) {
    this.#database = parts.database;
    this.proxy = parts.proxy;
    this.playground = parts.playground;
    this.url = parts.url;
    this.senders = parts.senders;
    this.#nodes = parts.nodes;
    this.#subscribed = parts.subscribed;
  }

  get server(): TestServer {
    const [server] = this.#nodes.servers;
    if (!server) throw new Error("There is no server.");
    return server;
  }

  get api(): ApiClient {
    return apiClient(this.server.url, this.playground.token);
  }

  /** What the senders can read when they post nothing. */
  get messagesPath(): string {
    return `/channels/${this.playground.privateId}/messages`;
  }

  /** Lets the senders make changes while `trouble` is made, from before it until after it. */
  async underLoad(trouble: () => Promise<void>): Promise<void> {
    let isOver = false;
    const { api } = this;
    const sending = Promise.all(this.senders.map((sender) => sender.sendWhile(() => !isOver, api)));
    const acknowledged = () => Sender.total(this.senders);
    const some = async () => {
      const before = acknowledged();
      await until("changes are taken", () => acknowledged() >= before + 20, { timeout_ms: 60_000 });
    };
    try {
      await Promise.race([sending, some().then(trouble).then(some)]);
    } finally {
      isOver = true;
    }
    await sending;
  }

  /** Waits until this many requests more were refused. */
  async refused(count: number): Promise<void> {
    const refused = () => this.senders.reduce((sum, { interrupted }) => sum + interrupted, 0);
    const before = refused();
    await until("requests are refused", () => refused() >= before + count, { timeout_ms: 60_000 });
  }

  /** What `/readyz` or `/healthz` says. */
  async health(path: "/readyz" | "/healthz"): Promise<Health> {
    const response = await fetch(this.server.url + path);
    return { status: response.status, text: await response.text() };
  }

  /**
   * Expects that the server serves again without anybody's help, has kept and delivered all that it took, has written
   * nothing by half, and has blamed no receiver.
   */
  async expectRecovered(): Promise<void> {
    const { receiver } = this.#subscribed;
    await until("the server is ready", async () => (await this.health("/readyz")).status === 200, {
      timeout_ms: 60_000,
    });
    expect((await this.health("/healthz")).status).toBe(200);
    await using rows = new PostgresRows(this.url);
    await until("every delivery is made", async () => (await rows.column(undone)).length === 0, {
      timeout_ms: 60_000,
    });
    expectEveryChangeDelivered(this.senders, [this.#subscribed]);
    await expectWhole(rows, [this.#subscribed]);
    expect(await rows.column("SELECT error FROM attempts WHERE succeeded = 0")).toEqual([]);
    const twice =
      "SELECT body FROM messages WHERE type = 'standard' AND deleted_at IS NULL AND edited_at IS NULL";
    expect(await rows.column(`${twice} GROUP BY body HAVING count(*) > 1`)).toEqual([]);
    expect(receiver.faults).toEqual([]);
    expect(this.logged("server.failed")).toBe(0);
    expect(await this.server.stop()).toBe(0);
  }

  /** The first column of the query's rows, past the proxy. */
  async column(sql: string): Promise<string[]> {
    await using rows = new PostgresRows(this.url);
    return await rows.column(sql);
  }

  /** How many lines of the server's log have this name. */
  logged(name: string): number {
    return this.server.logLines().filter((line) => line.includes(`"msg":"${name}"`)).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#nodes[Symbol.asyncDispose]();
    await this.#subscribed.receiver[Symbol.asyncDispose]();
    await this.proxy[Symbol.asyncDispose]();
    await this.#database[Symbol.asyncDispose]();
  }
}

/** Starts everything, on this PostgreSQL or one that tests share. */
export async function startDatabaseStage(postgres?: TestPostgres): Promise<DatabaseStage> {
  await using parts = new AsyncDisposableStack();
  const database = parts.use(postgres ? await newDatabase(postgres) : await freshDatabase());
  const { url } = database;
  const playground = await makeWorkspace(url, (workspace) => makePlayground(workspace, 60));
  const proxy = parts.use(await DatabaseProxy.start(Number(new URL(url).port)));
  const nodes = parts.use(
    await startNodes([proxy.through(url)], {
      WEBHOOKS_BLOCK_PRIVATE_URLS: "false",
      WEBHOOKS_TIMEOUT: "30",
    }),
  );
  const random = new Random(1);
  const receiver = parts.use(await WildReceiver.start([], random));
  receiver.isTame = true;
  const subscribed = await subscribe(apiClient(nodes.url, playground.token), receiver, webhookEvents, null);
  const senders = Array.from({ length: sendersCount }, () => new Sender(playground, random));
  parts.move();
  return new DatabaseStage({ proxy, playground, url, senders, nodes, subscribed, database });
}

/** A database that ends with its PostgreSQL. */
async function newDatabase(postgres: TestPostgres) {
  const url = await postgres.createDatabase("workspace");
  return { url, [Symbol.asyncDispose]: async () => {} };
}
