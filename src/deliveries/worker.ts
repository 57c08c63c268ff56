import { whenAnswered } from "../database/answer.ts";
import type { Database } from "../database/database.ts";
import type { QueuedJob } from "../outbox/job-store.ts";
import type { Log } from "../log/log.ts";
import { newId } from "../system/repeatable.ts";
import type { Tracing } from "../tracing/tracing.ts";
import type { Vault } from "../secrets/vault.ts";
import {
  type Destination,
  selectDeliveryRecord,
  selectSubscriptionIdsWithWork,
} from "../subscriptions/store.ts";
import { attempt, type Outcome, type Outgoing } from "./attempt.ts";
import { Certificates } from "./certificates.ts";
import type { DeliveryHold } from "./hold.ts";
import { Lanes } from "./lanes.ts";
import { OpenedCredentials } from "./opened-credentials.ts";
import type { Places } from "./places.ts";
import { asOwner, type Ownership, ownedOf } from "./ownership.ts";
import { prepare } from "./prepare.ts";
import type { AttemptResult, Queue } from "./queue.ts";
import type { QueueClock } from "./queue-clock.ts";
import { type RetryRules, settle } from "./settle.ts";
import { withhold } from "./withhold.ts";
import { readInThisTurn, selectNext, selectWork } from "./work.ts";
import { workspaceTime } from "../system/workspace-clock.ts";

/** How long to wait before retrying after an internal error, such as a full disk, in milliseconds. */
const faultPauseMs = 1_000;

/** How long a stop waits for requests in flight, in milliseconds; the rest are sent again after the next start. */
const stopWaitMs = 10_000;

/** Called with how each attempt ended and how long it took, in milliseconds. */
export type AttemptObserver = (outcome: Outcome["kind"], durationMs: number) => void;

/** What a worker is made of. */
export type WorkerParts = {
  database: Database;
  vault: Vault;
  outgoing: Outgoing;
  rules: RetryRules;
  places: Places;
  clock: QueueClock;
  hold: Pick<DeliveryHold, "isHeld" | "refresh" | "settled">;
  /** Divides the subscriptions among several servers; without it this one delivers to all. */
  ownership?: Ownership | undefined;
  log: Log;
  tracing?: Tracing | undefined;
  observeAttempt?: AttemptObserver | undefined;
};

/**
 * Delivers the queued jobs. It claims them in memory only, which is enough because one server at a time uses a data
 * folder, and of several on one database one owns a subscription. A job leaves its table in the transaction that logs its attempt, so a crash can only repeat a request. The
 * worker sleeps until a commit brings work or a retry is due, and does not query the database meanwhile.
 */
export class Worker {
  readonly #database: Database;
  readonly #credentials: OpenedCredentials;
  readonly #certificates: Certificates;
  readonly #outgoing: Outgoing;
  readonly #rules: RetryRules;
  readonly #log: Log;
  readonly #tracing: Tracing | undefined;
  readonly #observeAttempt: AttemptObserver | undefined;
  readonly #clock: QueueClock;
  readonly #hold: Pick<DeliveryHold, "isHeld" | "refresh" | "settled">;
  readonly #ownership: Ownership | undefined;
  readonly #lanes: Lanes;
  #isStopped = false;
  /** When the latest attempt began, by `performance.now()`; at first when the worker was made. */
  #attemptedAt = performance.now();

  constructor(parts: WorkerParts) {
    this.#database = parts.database;
    this.#credentials = new OpenedCredentials(parts.vault, parts.log);
    this.#certificates = new Certificates(parts.database);
    this.#outgoing = parts.outgoing;
    this.#rules = parts.rules;
    this.#log = parts.log;
    this.#tracing = parts.tracing;
    this.#observeAttempt = parts.observeAttempt;
    this.#hold = parts.hold;
    this.#clock = parts.clock;
    this.#ownership = parts.ownership;
    const nextJobs = (subscriptionId: string, limit: number) =>
      this.isHeldBack(subscriptionId) || this.#ownership?.owns(subscriptionId) === false
        ? { jobs: [] }
        : whenAnswered(
            this.#database.ask((db) => selectNext(db, subscriptionId, limit)),
            readInThisTurn,
          );
    this.#lanes = new Lanes(
      {
        now: () => this.#clock.now(),
        rest: (ms) => Bun.sleep(ms),
        nextJobs,
        deliveryRecord: (subscriptionId) =>
          this.#database.ask((db) => selectDeliveryRecord(db, subscriptionId)),
        work: asOwner(this.#ownership, (job, report) => this.#work(job, report)),
      },
      this.#log,
      { places: parts.places, backoffBaseMs: parts.rules.backoffBaseMs },
    );
    parts.database.onWork((subscriptionIds) => void this.wake(subscriptionIds));
  }

  /**
   * Looks for work for every subscription with jobs: for use at startup, and after another process has changed the
   * queue, a secret or the hold. Retries for as long as the database cannot be read.
   * @throws the error of the database when the worker is stopped meanwhile.
   */
  async wakeAll(): Promise<void> {
    this.#credentials.forgetFailures();
    await this.look();
  }

  /** As `wakeAll`, where nobody has changed a secret. */
  async look(): Promise<void> {
    await this.#retryUntilDone({}, async () => {
      await this.#hold.refresh();
      const withWork = await this.#database.ask(selectSubscriptionIdsWithWork);
      await this.#lanes.wake(withWork.filter((id) => this.#ownership?.owns(id) !== false));
    });
  }

  /**
   * Looks for work for these subscriptions, and retries for as long as they cannot be read. Where another node owns them,
   * that is told.
   */
  async wake(subscriptionIds: Iterable<string>): Promise<void> {
    const owned = ownedOf(this.#ownership, subscriptionIds);
    try {
      await this.#retryUntilDone({}, async () => {
        // Without an await where nothing is unreadable, which is nearly always.
        if (this.#credentials.hasFailed) await this.#credentials.recheck(this.#database, owned);
        await this.#lanes.wake(owned);
      });
    } catch {
      // The worker was stopped meanwhile; the next start looks at every subscription.
    }
  }

  /** For how long a loop that has attempts to start has not gone round, in milliseconds; normally a few at most. */
  stalledMs(): number {
    return this.#lanes.stalledMs();
  }

  /** The time since the latest attempt began, or since the start, in milliseconds. */
  sinceAttemptMs(): number {
    return performance.now() - this.#attemptedAt;
  }

  /** Whether the subscription's jobs wait for an operator: deliveries are held, or its credentials cannot be decrypted. */
  isHeldBack(subscriptionId: string): boolean {
    return this.#credentials.areUnreadable(subscriptionId) || this.#hold.isHeld(subscriptionId);
  }

  /** Starts no more attempts and waits for those in flight, at most ten seconds. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#lanes.stop(stopWaitMs);
  }

  /** Makes one attempt at the job, unless it is gone or must no longer be sent. */
  async #work(...[queued, report]: Parameters<Queue["work"]>): Promise<AttemptResult | undefined> {
    const asked = queued.read ?? this.#database.ask((db) => selectWork(db, queued));
    // Without an await of what is there already, so that the attempt begins in the turn of its lane.
    const work = asked instanceof Promise ? await asked : asked;
    if (!work) return undefined;
    const { job, destination } = work;
    return work.isWithheld ? await this.#withhold(job) : await this.#attempt(job, destination, report);
  }

  /** Deletes the job, along with the other due jobs whose events the subscription's creator may not see. */
  async #withhold({ subscriptionId, eventId }: QueuedJob): Promise<undefined> {
    const now = this.#clock.now();
    const events = await this.#retryUntilDone({ event: eventId }, () =>
      this.#database.write((tx) => withhold(tx, subscriptionId, now)),
    );
    // 0 if the creator has just regained access, or the subscription was disabled.
    if (events === 0) return;
    this.#log.info({ webhook: subscriptionId, event: eventId, events }, "delivery.withheld");
  }

  async #attempt(
    job: QueuedJob,
    destination: Destination,
    report: (hasSucceeded: boolean) => boolean,
  ): Promise<AttemptResult | undefined> {
    const credentials = this.#credentials.of(destination);
    if (!credentials) return undefined;
    this.#attemptedAt = performance.now();
    const { eventId: id, eventType: type, envelope, eventSeq } = job;
    const message = { id, type, envelope, eventSeq };
    const traced = this.#tracing?.beginDelivery(job, destination.url);
    const request = prepare(message, credentials, workspaceTime(), traced?.traceparent);
    const outcome = await attempt(this.#outgoing, destination.url, request);
    const { kind, durationMs } = outcome;
    this.#observeAttempt?.(kind, durationMs);
    if (kind === "own_fault") {
      const { error: reason } = outcome;
      this.#log.warn({ webhook: destination.id, event: job.eventId, reason }, "delivery.put_off");
      return { kind };
    }
    traced?.answered(outcome);
    const isCounted = report(kind === "succeeded");
    const now = workspaceTime();
    const ending = { attemptId: newId(), now, aheadMs: this.#clock.now() - now, isCounted };
    // The request was sent: failing to record the outcome must not cause a second one.
    const settled = await this.#retryUntilDone({ event: job.eventId }, () =>
      this.#database.write((tx) => {
        if (kind !== "succeeded") this.#clock.keep(tx, ending.aheadMs);
        return settle(tx, job, outcome, this.#rules, ending);
      }),
    );
    traced?.end(settled.attemptId);
    this.#hold.settled(settled.logged.seq);
    this.#log.info(
      {
        delivery: settled.attemptId,
        webhook: destination.id,
        event: job.eventId,
        event_type: job.eventType,
        attempt: job.attempts + 1,
        outcome: kind,
        status: outcome.status ?? undefined,
        error: outcome.error ?? undefined,
        detail: outcome.detail ?? undefined,
        duration_ms: durationMs,
        next_attempt_at: settled.nextAttemptAt,
        disabled: settled.isDisabled,
        trace_id: traced?.traceId,
      },
      "delivery.attempted",
    );
    if (this.#certificates.isNews(destination, outcome))
      await this.#retryUntilDone({ webhook: destination.id }, () =>
        this.#certificates.note(destination, outcome),
      );
    return kind === "succeeded"
      ? { kind, durationMs }
      : {
          kind: "failed",
          durationMs,
          hasTimedOut: kind === "timed_out",
          isCounted,
          failures: settled.logged.failure?.streak ?? 0,
        };
  }

  /** Runs the step, and retries it after a pause on each error, until it succeeds or the worker is stopped. */
  async #retryUntilDone<Result>(about: object, step: () => Promise<Result>): Promise<Result> {
    while (true) {
      try {
        return await step();
      } catch (error) {
        if (this.#isStopped) throw error;
        this.#log.error({ err: error, ...about }, "delivery.held_up");
        await Bun.sleep(faultPauseMs);
      }
    }
  }
}
