import { describe, expect, test } from "bun:test";
import { createSubscription } from "../../src/subscriptions/subscriptions.ts";
import { createLog } from "../../src/log/log.ts";
import { until } from "../support/conditions.ts";
import { type Answering, hang, type Receiver, startReceiver } from "../support/receivers/receiver.ts";
import { underLimits } from "../support/server.ts";
import { actor } from "../support/workspace.ts";
import { startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";

/** The maximum number of requests in flight to a host that only one team's subscriptions name. */
const hostMax = 52;

/** Creates `count` subscriptions of the team to all its messages at each of the receivers, without using the server. */
async function subscribe(
  { database, vault }: WebhookStage,
  teamId: string,
  receivers: Receiver[],
  count: number,
): Promise<void> {
  const parts = {
    database,
    vault,
    guard: { blockPrivate: false },
    log: createLog("silent"),
    maxSubscriptions: 1_000,
  };
  const urls = receivers.flatMap(({ url }) => Array.from({ length: count }, () => url));
  await Promise.all(
    urls.map((url) =>
      createSubscription(parts, teamId, { name: "test", url, events: ["message.created"] }, actor),
    ),
  );
}

/** How many requests to a receiver are unanswered, and the maximum so far. */
function countingAtOnce(answerIn: () => Promise<unknown>): { answer: Answering; maximum: () => number } {
  let inFlight = 0;
  let maximum = 0;
  return {
    maximum: () => maximum,
    answer: async () => {
      maximum = Math.max(maximum, ++inFlight);
      await answerIn();
      inFlight--;
      return new Response();
    },
  };
}

describe("a team with many endpoints that hang", () => {
  test.each<[limit: number, hanging: number]>([
    [64, 30],
    [256, 120],
    [1024, 420],
  ])(
    "delays no other team, where the server has %d file descriptors",
    async (limit, count) => {
      const settings = { WEBHOOKS_TIMEOUT: "100" };
      await using stage = await startWebhookStage(settings, { within: underLimits(`-n ${limit}`) });
      await using receivers = new AsyncDisposableStack();
      const hanging = Array.from({ length: count / 30 }, () => receivers.use(startReceiver(hang)));
      await subscribe(stage, stage.team.id, hanging, 30);
      await stage.post(stage.team.general);
      const arrived = () => hanging.reduce((sum, { requests }) => sum + requests.length, 0);
      // One team after another gets a place: the remaining ones stay free, however long others wait.
      const seen = { count: -1, since: 0 };
      await until(
        "no more of them come",
        () => {
          const now = performance.now();
          if (seen.count !== arrived()) Object.assign(seen, { count: arrived(), since: now });
          return seen.count > 0 && now - seen.since > 500;
        },
        { timeout_ms: 20_000 },
      );
      expect(seen.count).toBeLessThan(count);

      const other = await stage.workspace.team("Other");
      const receiver = receivers.use(startReceiver());
      await subscribe(stage, other.id, [receiver], 1);
      await stage.workspace.message(other.general, other.owner, "hello");
      expect((await receiver.nth(1)).text).toContain("hello");
      for (let nth = 2; nth <= 10; nth++) {
        await stage.workspace.message(other.general, other.owner, "again");
        await receiver.received(nth);
      }
    },
    60_000,
  );
});

describe("a host with many subscriptions", () => {
  test("never has more than 52 requests of one team in flight, and gets every event", async () => {
    await using stage = await startWebhookStage();
    const { promise: isFull, resolve: letGo } = Promise.withResolvers<void>();
    const { answer, maximum } = countingAtOnce(() => isFull);
    await using receiver = startReceiver(answer);
    await using elsewhere = startReceiver();
    await subscribe(stage, stage.team.id, [receiver], 300);
    await subscribe(stage, stage.team.id, [elsewhere], 1);
    await stage.post(stage.team.general);
    await receiver.received(hostMax);
    await elsewhere.received(1);
    letGo();
    await receiver.received(300);
    for (let nth = 0; nth < 3; nth++) await stage.post(stage.team.general);
    await receiver.received(4 * 300);
    await elsewhere.received(4);
    expect(maximum()).toBe(hostMax);
  }, 60_000);
});
