import { expect, test } from "bun:test";
import { webhookEvents } from "../../src/event-types.ts";
import { expectEveryChangeDelivered, expectWhole, undone } from "../crash/accounts.ts";
import { Sender } from "../crash/load.ts";
import { makePlayground } from "../crash/playground.ts";
import { PostgresRows } from "../crash/postgres-rows.ts";
import { Random } from "../crash/random.ts";
import { subscribe } from "../crash/subscribed.ts";
import { apiClient } from "../support/client.ts";
import { until } from "../support/conditions.ts";
import { makeWorkspace, startNodes } from "../support/proxied-nodes.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { WildReceiver } from "../support/receivers/wild-receiver.ts";

const settings = { fsync: "on", synchronous_commit: "on", full_page_writes: "on" };

test("a standby that is promoted under load has all that was acknowledged, and the nodes find it by themselves", async () => {
  await using primary = await startPostgres({ withStandby: true, settings });
  const url = await primary.createDatabase("workspace");
  const playground = await makeWorkspace(url, (workspace) => makePlayground(workspace, 100));
  await using standby = await startSynchronousStandby(primary);
  const random = new Random(1);
  await using receiver = await WildReceiver.start([], random);
  receiver.isTame = true;
  const both = url.replace(
    `:${primary.port}/workspace`,
    `:${primary.port},127.0.0.1:${standby.port}/workspace?target_session_attrs=read-write`,
  );
  await using nodes = await startNodes([both, both], { WEBHOOKS_BLOCK_PRIVATE_URLS: "false" });
  const client = apiClient(nodes.url, playground.token);
  const subscribed = [await subscribe(client, receiver, webhookEvents, null)];
  const senders = Array.from({ length: 6 }, () => new Sender(playground, random));
  const taken = () => Sender.total(senders);

  let isOver = false;
  const sending = Promise.all(senders.map((sender) => sender.sendWhile(() => !isOver, client)));
  const failover = async () => {
    await until("there is enough to lose", () => taken() >= 300, { timeout_ms: 60_000 });
    await primary.stop("immediate");
    await standby.promote();
    const before = taken();
    await until("changes are taken again", () => taken() >= before + 100, { timeout_ms: 60_000 });
  };
  try {
    await Promise.race([failover(), sending]);
  } finally {
    isOver = true;
    await Promise.allSettled([sending]);
  }
  await sending;

  await using rows = new PostgresRows(standby.url("workspace"));
  await until("every delivery is made", async () => (await rows.column(undone)).length === 0, {
    timeout_ms: 60_000,
  });
  expectEveryChangeDelivered(senders, subscribed);
  await expectWhole(rows, subscribed);
  expect(await rows.column("SELECT error FROM attempts WHERE succeeded = 0")).toEqual([]);
  for (const server of nodes.servers) expect(await server.stop()).toBe(0);
}, 180_000);

test("while the only synchronous standby is away, changes are refused with that as the reason, and go on when it is back", async () => {
  await using primary = await startPostgres({ withStandby: true, settings });
  const url = await primary.createDatabase("workspace");
  const playground = await makeWorkspace(url, (workspace) => makePlayground(workspace, 3));
  await using standby = await startSynchronousStandby(primary);
  await using nodes = await startNodes([url]);
  const client = apiClient(nodes.url, playground.token);
  const path = `/channels/${playground.privateId}/messages`;
  const post = () => client.post<{ data: { id: string }; message: string }>(path, { body: "hello" });
  const { json } = await post();
  await nodes.servers[0]?.logLine(({ msg }) => msg === "retention.swept");

  await standby.stop();
  const first = post();
  first.catch(() => {});
  const waiting = async () => (await primary.query(waitingForStandby)).length;
  await until("rows wait for the standby", async () =>
    (await primary.query<{ query: string }>(waitingForStandby)).some(({ query }) =>
      /append_rows/.test(query),
    ),
  );
  const refusal = await client.patch(`${path}/${json.data.id}`, { body: "changed" });
  expect([refusal.status, refusal.headers.get("retry-after")]).toEqual([503, expect.any(String)]);
  expect(refusal.json.message).toBe(
    "Changes wait for the database's synchronous standby, which is away or slow. Nothing was saved; bring it back, or " +
      "take it out of synchronous_standby_names, and try again.",
  );
  // More of them take up none of the database's connections; the server's own look at the others may.
  const before = await waiting();
  for (let nth = 0; nth < 50; nth++) expect((await post()).status).toBe(503);
  expect(await waiting()).toBeLessThan(before + 3);
  expect((await client.get(path)).status).toBe(200);
  expect(await (await fetch(`${nodes.url}/healthz`)).json()).toMatchObject({
    reason: expect.stringContaining("synchronous standby") as string,
  });

  await standby.start();
  // A standby that takes long to start finds it given up.
  expect([201, 503]).toContain((await first).status);
  await until("changes are taken again", async () => (await post()).status === 201, { timeout_ms: 60_000 });
  await until("the server is ready", async () => (await fetch(`${nodes.url}/readyz`)).status === 200);
}, 120_000);

const waitingForStandby = "SELECT query FROM pg_stat_activity WHERE wait_event = 'SyncRep'";

/** Starts a standby without which the primary acknowledges no commit. */
async function startSynchronousStandby(primary: TestPostgres): Promise<TestPostgres> {
  const standby = await startPostgres({ standbyOf: primary, settings });
  await primary.query("ALTER SYSTEM SET synchronous_standby_names = '*'");
  await primary.query("SELECT pg_reload_conf()");
  await until("the standby is synchronous", async () => {
    const rows = await primary.query<{ state: string }>(
      "SELECT sync_state AS state FROM pg_stat_replication",
    );
    return rows[0]?.state === "sync";
  });
  return standby;
}
