import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { showAttempt } from "../../src/deliveries/attempt-log.ts";
import { listAttempts } from "../../src/deliveries/attempt-search.ts";
import { replay } from "../../src/deliveries/replay.ts";
import { Retention } from "../../src/deliveries/retention.ts";
import { deleteEvents, selectEventSeqs } from "../../src/outbox/event-store.ts";
import { createLog } from "../../src/log/log.ts";
import { rotateSecret } from "../../src/subscriptions/secrets.ts";
import { until } from "../support/conditions.ts";
import { type Answering, statuses } from "../support/receivers/receiver.ts";
import { actor } from "../support/workspace.ts";
import {
  digestOf,
  type Listener,
  signatureOf,
  startWebhookStage,
  type WebhookStage,
  refusalOf,
} from "../support/webhook-stage.ts";

let stage: WebhookStage;
beforeAll(async () => {
  stage = await startWebhookStage({ WEBHOOKS_BACKOFF_BASE: "600", WEBHOOKS_DISABLE_AFTER: "3" });
});
afterAll(() => stage[Symbol.asyncDispose]());

/** A listener that has been sent one message, and the log's entry of that attempt. */
async function delivered(answer?: Answering): Promise<Listener & { attemptId: string }> {
  const channel = await stage.channel();
  const listener = await stage.listen({ events: ["message.created"], channel_ids: [channel.id] }, answer);
  await stage.post(channel, "Grüße 👋");
  return Object.assign(listener, { attemptId: (await attemptsOf(listener, 1))[0]?.id ?? "" });
}

/** The latest attempts, newest first, once there are so many. */
async function attemptsOf({ subscription }: Listener, count: number) {
  const attempts = async () => (await stage.shown(subscription)).deliveries;
  return await until(
    "the attempts are logged",
    async () => (await attempts()).length >= count && (await attempts()),
  );
}

/** Replays as the command line does, in a process of its own. */
async function replayed(
  attemptId: string,
  { timeoutMs = 500, teamId = stage.team.id, blockPrivate = false } = {},
) {
  const outgoing = { guard: { blockPrivate }, timeoutMs };
  return await replay({ database: stage.database, vault: stage.vault, outgoing }, teamId, attemptId, actor);
}

async function isReplay(attemptId: string): Promise<boolean> {
  return (await stage.database.ask((db) => showAttempt(db, stage.team.id, attemptId))).replay;
}

describe("a replay", () => {
  test("sends the same bytes with the same id, freshly signed at the current time", async () => {
    await using listener = await delivered();
    const before = Math.floor(Date.now() / 1000);
    await replayed(listener.attemptId);
    const [original, again] = await listener.receiver.received(2);
    if (!original || !again) throw new Error("not sent again");
    expect(again.body).toEqual(original.body);
    for (const name of ["x-service-delivery", "x-service-event", "content-type"]) {
      expect(again.headers.get(name)).toBe(original.headers.get(name));
    }
    expect(signatureOf(again).time).toBeGreaterThanOrEqual(before);
    expect(signatureOf(again).digests).toEqual([digestOf(again, listener.subscription.secret)]);
  });

  test("is signed with the current secret", async () => {
    await using listener = await delivered();
    const { vault } = stage;
    const { id, secret: old } = listener.subscription;
    const { secret } = await stage.database.write((tx) =>
      rotateSecret(tx, vault, stage.team.id, id, 0, actor),
    );
    await replayed(listener.attemptId);
    const again = await listener.receiver.nth(2);
    expect(signatureOf(again).digests).toEqual([digestOf(again, secret)]);
    expect(signatureOf(again).digests).not.toContain(digestOf(again, old));
  });

  test("appends an attempt to the log, marked as a replay, and returns it; the original does not change", async () => {
    await using listener = await delivered(statuses(500, 200));
    const [original] = await attemptsOf(listener, 1);
    const returned = await replayed(listener.attemptId);
    const [newest, first, ...others] = await attemptsOf(listener, 2);
    expect(others).toEqual([]);
    expect(first).toEqual(original);
    expect(returned).toEqual({ ...newest, replay: true } as typeof returned);
    expect(newest).toMatchObject({
      event_id: original?.event_id,
      succeeded: true,
      response_status: 200,
      error: null,
    });
    expect(newest?.id).not.toBe(original?.id ?? "");
    expect([await isReplay(newest?.id ?? ""), await isReplay(first?.id ?? "")]).toEqual([true, false]);
    const listed = await stage.database.ask((db) =>
      listAttempts(db, stage.team.id, {
        subscriptionId: listener.subscription.id,
        limit: 10,
      }),
    );
    expect(listed.map((attempt) => attempt.replay)).toEqual([true, false]);
  });

  test("is audited with its actor", async () => {
    await using listener = await delivered();
    const { id } = await replayed(listener.attemptId);
    const [entry] = await stage.audit("delivery.replayed");
    expect(entry).toMatchObject({
      actor,
      target: `delivery:${listener.attemptId}`,
      details: { webhook: listener.subscription.id, replay: id, succeeded: true },
    });
  });

  test("that succeeds does not clear the streak and does not count as a success of the subscription", async () => {
    await using listener = await delivered(statuses(500, 204));
    expect(await replayed(listener.attemptId)).toMatchObject({ succeeded: true });
    const shown = await stage.shown(listener.subscription);
    expect(shown).toMatchObject({ status: "active", consecutive_failures: 1, last_success_at: null });
  });

  test("that fails does not count towards the streak, disables nothing and is never retried", async () => {
    await using listener = await delivered(statuses(500));
    for (let nth = 0; nth < 4; nth++) {
      expect(await replayed(listener.attemptId)).toMatchObject({ succeeded: false, response_status: 500 });
    }
    const shown = await stage.shown(listener.subscription);
    expect(shown).toMatchObject({ status: "active", consecutive_failures: 1 });
    // What is queued is the retry of the original, hours away.
    expect(await stage.queued(listener.subscription)).toBe(1);
    expect(listener.receiver.requests).toHaveLength(5);
  });

  test("that fails leaves an empty queue empty", async () => {
    await using listener = await delivered(statuses(200, 500));
    await replayed(listener.attemptId);
    expect(await stage.queued(listener.subscription)).toBe(0);
    expect(await stage.shown(listener.subscription)).toMatchObject({
      consecutive_failures: 0,
      last_success_at: expect.any(String),
    });
  });

  test("works on a disabled subscription, which does not change", async () => {
    await using listener = await delivered();
    await stage.disable(listener.subscription);
    const { deliveries: _, ...before } = await stage.shown(listener.subscription);
    expect(await replayed(listener.attemptId)).toMatchObject({ succeeded: true });
    expect(await stage.shown(listener.subscription)).toMatchObject(before);
    expect(listener.receiver.requests).toHaveLength(2);
  });

  test("of a replay sends the same again", async () => {
    await using listener = await delivered();
    const { id } = await replayed(listener.attemptId);
    await replayed(id.toUpperCase());
    const bodies = (await listener.receiver.received(3)).map(({ text }) => text);
    expect(new Set(bodies).size).toBe(1);
  });

  test("is bounded in time and follows no redirect", async () => {
    await using listener = await delivered();
    listener.receiver.answer = (_request, nth) =>
      nth === 2
        ? new Promise(() => {})
        : new Response(null, { status: 302, headers: { location: "/elsewhere" } });
    expect(await replayed(listener.attemptId, { timeoutMs: 100 })).toMatchObject({
      succeeded: false,
      response_status: null,
    });
    expect(await replayed(listener.attemptId)).toMatchObject({ succeeded: false, response_status: 302 });
    expect(listener.receiver.requests).toHaveLength(3);
  });

  test("is checked by the address guard like every delivery", async () => {
    await using listener = await delivered();
    const blocked = await replayed(listener.attemptId, { blockPrivate: true });
    expect(blocked).toMatchObject({ succeeded: false, error: "blocked: the URL is not publicly reachable" });
    expect(listener.receiver.requests).toHaveLength(1);
  });

  test("needs no server, and its effects are there when one starts", async () => {
    await using own = await startWebhookStage();
    await using listener = await own.listen({ events: ["message.created"] });
    await own.post(own.team.general);
    await own.drained(listener.subscription);
    const [original] = (await own.shown(listener.subscription)).deliveries;
    await own.stop();
    const outgoing = { guard: { blockPrivate: false }, timeoutMs: 500 };
    const parts = { database: own.database, vault: own.vault, outgoing };
    const returned = await replay(parts, own.team.id, original?.id ?? "", actor);
    expect(listener.receiver.requests).toHaveLength(2);
    await own.restart();
    expect((await own.shown(listener.subscription)).deliveries.map(({ id }) => id)).toEqual([
      returned.id,
      original?.id ?? "",
    ]);
    expect(listener.receiver.requests).toHaveLength(2);
  });
});

describe("a replay is refused, sends nothing and logs nothing,", () => {
  async function refused(listener: Listener, attemptId: string, words: RegExp, teamId = stage.team.id) {
    const traces = async () => [
      await stage.database.ask((db) => listAttempts(db, stage.team.id, { limit: 1000 })),
      await stage.audit("delivery.replayed"),
    ];
    const before = await traces();
    expect(await refusalOf(replayed(attemptId, { teamId }))).toMatch(words);
    expect(listener.receiver.requests).toHaveLength(1);
    expect(await traces()).toEqual(before);
  }

  test("when there is no such attempt, or it belongs to another team", async () => {
    await using listener = await delivered();
    const other = await stage.workspace.team("Umbrella");
    await refused(listener, crypto.randomUUID(), /no such/);
    await refused(listener, "nonsense", /no such/);
    await refused(listener, listener.attemptId, /no such/, other.id);
  });

  test("when the subscription was deleted", async () => {
    await using listener = await delivered();
    await stage.api.del(`/webhooks/${listener.subscription.id}`);
    await refused(listener, listener.attemptId, /deleted/);
  });

  test("when the attempt was pruned by retention", async () => {
    await using listener = await delivered();
    const retention = new Retention(stage.database, 1, createLog("silent"));
    await retention.sweep(Date.now() + 2 * 86_400_000);
    await refused(listener, listener.attemptId, /no such/);
  });

  test("when the attempt has no stored payload", async () => {
    await using listener = await delivered();
    const seqs = await stage.database.ask((db) => selectEventSeqs(db, { after: 0, limit: 1_000 }));
    await stage.database.write((tx) => deleteEvents(tx, seqs));
    await refused(listener, listener.attemptId, /no longer stored/);
  });
});
