import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Connections, openConnections } from "../../../src/database/postgres/connections.ts";
import { explainDatabaseError } from "../../../src/database/postgres/errors.ts";
import { until } from "../../support/conditions.ts";
import { freshDatabase } from "../../support/postgres.ts";
import { type SilentProxy, silentProxy } from "../../support/silent-proxy.ts";

// A machine that loses its power, or a network that drops packets, sends no word that a connection has ended.

let database: Awaited<ReturnType<typeof freshDatabase>>;
beforeAll(async () => (database = await freshDatabase()));
afterAll(async () => database[Symbol.asyncDispose]());

/** Connections through a proxy, whose ticks are short. */
async function stage(): Promise<{ connections: Connections; proxy: SilentProxy } & AsyncDisposable> {
  const proxy = silentProxy(Number(new URL(database.url).port));
  const url = new URL(database.url);
  url.port = String(proxy.port);
  url.search = "?connect_timeout=1";
  const connections = openConnections(url.href, { tickMs: 100 });
  await until("it is connected", () => isThere(connections));
  const dispose = async () => {
    await connections.close();
    proxy[Symbol.dispose]();
  };
  return { connections, proxy, [Symbol.asyncDispose]: dispose };
}

function isThere({ query }: Connections): Promise<boolean> {
  return query("SELECT 1").then(
    () => true,
    () => false,
  );
}

/** The error that the promise rejects with. */
function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

test("a statement that gets no answer is given up, and so is the next connection", async () => {
  await using silent = await stage();
  const { connections, proxy } = silent;
  proxy.fallSilent();
  const error = await failure(connections.query("SELECT 1"));
  expect(explainDatabaseError(error)).toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("does not answer. Whether anything was saved is not known"),
  });
  // Connecting gets no answer either, and everybody who waits is told.
  const errors = await Promise.all([failure(connections.query("SELECT 1")), failure(connections.session())]);
  for (const other of errors) expect(explainDatabaseError(other)).toMatchObject({ code: "unavailable" });
});

test("an idle session with a lock notices that its database is gone", async () => {
  await using silent = await stage();
  const { connections, proxy } = silent;
  const session = await connections.session();
  let lost: unknown;
  session.onLost((error) => (lost = error));
  await session.query("SELECT pg_advisory_lock(1)");
  proxy.fallSilent();
  await until("the loss is noticed", () => lost);
  expect(lost).toMatchObject({ reason: "silent" });
  expect(await failure(session.query("SELECT 1"))).toMatchObject({ reason: "silent" });
  session.close();
});

test("a listener whose connection has fallen silent listens on another one", async () => {
  const proxies = [1, 2].map(() => silentProxy(Number(new URL(database.url).port)));
  const [first, second] = proxies;
  if (!first || !second) throw new Error("There are two proxies.");
  const { username, password, pathname } = new URL(database.url);
  const hosts = `127.0.0.1:${first.port},127.0.0.1:${second.port}`;
  const url = `postgres://${username}:${password}@${hosts}${pathname}?connect_timeout=1`;
  const connections = openConnections(url, { tickMs: 100 });
  const heard: string[] = [];
  let times = 0;
  connections.listen(
    "news",
    (payload) => heard.push(payload),
    () => times++,
  );
  await until("it listens", () => times === 1);
  first.fallSilent();
  await until("it hears on the other host", async () => {
    await connections.query("SELECT pg_notify('news', 'again')").catch(() => {});
    return heard.length > 0;
  });
  expect(times).toBeGreaterThan(1);
  await connections.close();
  for (const proxy of proxies) proxy[Symbol.dispose]();
});
