import type { Database } from "../database/database.ts";
import { DomainError } from "../errors.ts";
import { type JobKey, type QueuedJob, selectJob, selectNextJobs } from "../outbox/job-store.ts";
import type { Log } from "../log/log.ts";
import type { Vault } from "../secrets/vault.ts";
import { signingSecrets } from "../subscriptions/secrets.ts";
import {
  type Destination,
  selectDestination,
  selectDeliveryRecord,
  selectSubscriptionIdsWithWork,
} from "../subscriptions/store.ts";
import { isWithheld } from "../outbox/creator-visibility.ts";
import { attempt, type Outgoing } from "./attempt.ts";
import { Lanes } from "./lanes.ts";
import type { Places } from "./places.ts";
import { prepare } from "./prepare.ts";
import type { Ended } from "./queue.ts";
import { QueueClock } from "./queue-clock.ts";
import { type RetryRules, settle } from "./settle.ts";
import { withhold } from "./withhold.ts";

/** How long to wait after a fault of our own, a full disk for one, before the same is tried again, in milliseconds. */
const faultPauseMs = 1_000;

/** How long a stop waits for requests under way; those that it gives up are sent again after the next start. */
const stopWaitMs = 10_000;

/**
 * Delivers what is queued. It claims in memory, which is enough because one server at a time works on a data folder:
 * a job leaves its table only with the attempt's entry in the log, so a crash at any moment repeats a request at most.
 * It sleeps until a commit brings work or a retry falls due, and asks the database nothing meanwhile.
 */
export class Worker {
  readonly #database: Database;
  readonly #vault: Vault;
  readonly #outgoing: Outgoing;
  readonly #rules: RetryRules;
  readonly #log: Log;
  readonly #clock: QueueClock;
  readonly #lanes: Lanes;
  /** The subscriptions whose secret cannot be read: they stay active, what is for them waits. */
  readonly #unreadable = new Set<string>();
  #isStopped = false;

  constructor(parts: {
    database: Database;
    vault: Vault;
    outgoing: Outgoing;
    rules: RetryRules;
    places: Places;
    log: Log;
  }) {
    this.#database = parts.database;
    this.#vault = parts.vault;
    this.#outgoing = parts.outgoing;
    this.#rules = parts.rules;
    this.#log = parts.log;
    const nextJobs = async (subscriptionId: string, limit: number) =>
      this.#unreadable.has(subscriptionId) || selectDestination(this.#database.read, subscriptionId) === null
        ? []
        : await selectNextJobs(this.#database.read, subscriptionId, limit);
    this.#clock = new QueueClock(parts.database.read);
    this.#lanes = new Lanes(
      {
        now: () => this.#clock.now(),
        rest: (ms) => Bun.sleep(ms),
        nextJobs,
        deliveryRecord: (subscriptionId) => selectDeliveryRecord(this.#database.read, subscriptionId),
        work: (job, hear) => this.#work(job, hear),
      },
      this.#log,
      { places: parts.places, backoffBaseMs: parts.rules.backoffBaseMs },
    );
    parts.database.onWork((subscriptionIds) => void this.#wake(subscriptionIds));
  }

  /**
   * Looks at every subscription that something waits for: at the start, and when another process has changed the queue
   * or a secret. Where the database cannot be read it tries again until it can.
   */
  async wakeAll(): Promise<void> {
    this.#unreadable.clear();
    await this.#untilDone({}, async () => {
      this.#lanes.wake(await selectSubscriptionIdsWithWork(this.#database.read));
    });
  }

  /** Looks at these subscriptions: at once, and where they cannot be read, again until they can. */
  async #wake(subscriptionIds: Iterable<string>): Promise<void> {
    try {
      await this.#untilDone({}, async () => this.#lanes.wake(subscriptionIds));
    } catch {
      // It was stopped meanwhile, and the next start looks at all of them.
    }
  }

  /** Begins nothing new and waits for what is under way, for ten seconds at most. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#lanes.stop(stopWaitMs);
  }

  /** One attempt at one job, unless it is gone, or must not be sent by now. */
  async #work(key: JobKey, hear: (hasSucceeded: boolean) => boolean): Promise<Ended | undefined> {
    const job = selectJob(this.#database.read, key);
    const destination = job && selectDestination(this.#database.read, job.subscriptionId);
    if (!destination) return undefined;
    if (isWithheld(this.#database.read, job.subscriptionId, job.envelope)) return await this.#withhold(job);
    return await this.#attempt(job, destination, hear);
  }

  /** Drops the job, and with it what else its creator may not see of what is due. */
  async #withhold({ subscriptionId, eventId }: QueuedJob): Promise<undefined> {
    const events = await this.#untilDone({ event: eventId }, () =>
      this.#database.write((tx) => withhold(tx, subscriptionId, this.#clock.now())),
    );
    // None where the creator has come back just now, or the subscription was disabled.
    if (events === 0) return;
    this.#log.info({ webhook: subscriptionId, event: eventId, events }, "delivery.withheld");
  }

  async #attempt(
    job: QueuedJob,
    destination: Destination,
    hear: (hasSucceeded: boolean) => boolean,
  ): Promise<Ended | undefined> {
    const secrets = this.#secretsOf(destination);
    if (!secrets) return undefined;
    const notice = { id: job.eventId, type: job.eventType, envelope: job.envelope };
    const outcome = await attempt(this.#outgoing, destination.url, prepare(notice, secrets, Date.now()));
    const { kind, durationMs } = outcome;
    if (kind === "own_fault") {
      const { error: reason } = outcome;
      this.#log.warn({ webhook: destination.id, event: job.eventId, reason }, "delivery.put_off");
      return { kind };
    }
    const isCounted = hear(kind === "succeeded");
    const now = Date.now();
    const ending = { now, aheadMs: this.#clock.now() - now, isCounted };
    // The receiver has it: what cannot be written down yet must not be a reason to send it again.
    const settled = await this.#untilDone({ event: job.eventId }, () =>
      this.#database.write((tx) => {
        if (kind !== "succeeded") this.#clock.keep(tx, ending.aheadMs);
        return settle(tx, job, outcome, this.#rules, ending);
      }),
    );
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
      },
      "delivery.attempted",
    );
    return kind === "succeeded"
      ? { kind, durationMs }
      : {
          kind: "failed",
          durationMs,
          hasTimedOut: kind === "timed_out",
          isCounted,
          failures: settled.failures,
        };
  }

  /**
   * The secrets to sign with. Where they cannot be read the subscription is left alone until `wakeAll`: only an operator
   * can change that, who reads of it once in the log, and no event may be lost meanwhile.
   */
  #secretsOf(destination: Destination): string[] | undefined {
    try {
      return signingSecrets(this.#vault, destination, Date.now());
    } catch (error) {
      if (!(error instanceof DomainError && error.code === "key_missing")) throw error;
      if (!this.#unreadable.has(destination.id)) {
        this.#log.error({ webhook: destination.id, reason: error.message }, "webhook.secret_unreadable");
      }
      this.#unreadable.add(destination.id);
      return undefined;
    }
  }

  /** Runs the step again after each fault, with a pause, until it is done or the worker is stopped. */
  async #untilDone<Result>(about: object, step: () => Promise<Result>): Promise<Result> {
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
