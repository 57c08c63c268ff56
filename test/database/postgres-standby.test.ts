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
import { startPostgres } from "../support/postgres.ts";
import { WildReceiver } from "../support/receivers/wild-receiver.ts";

const settings = { fsync: "on", synchronous_commit: "on", full_page_writes: "on" };

test("a standby that is promoted under load has all that was acknowledged, and the nodes find it by themselves", async () => {
  await using primary = await startPostgres({ withStandby: true, settings });
  const url = await primary.createDatabase("workspace");
  const playground = await makeWorkspace(url, (workspace) => makePlayground(workspace, 100));
  await using standby = await startPostgres({ standbyOf: primary, settings });
  await primary.query("ALTER SYSTEM SET synchronous_standby_names = '*'");
  await primary.query("SELECT pg_reload_conf()");
  await until("the standby is synchronous", async () => {
    const rows = await primary.query<{ state: string }>(
      "SELECT sync_state AS state FROM pg_stat_replication",
    );
    return rows[0]?.state === "sync";
  });

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
