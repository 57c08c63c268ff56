import type { Database } from "../database/open.ts";
import { DomainError } from "../errors.ts";
import { type ClaimedJob, selectJob, selectNextJobs } from "../jobs/store.ts";
import type { Log } from "../log.ts";
import type { Vault } from "../secrets/vault.ts";
import { signingSecrets } from "../subscriptions/secrets.ts";
import { disable } from "../subscriptions/status.ts";
import { selectActiveSubscriptionIds } from "../subscriptions/store.ts";
import { attempt, type Outgoing } from "./attempt.ts";
import { Lanes } from "./lanes.ts";
import { prepare } from "./prepare.ts";
import { type RetryRules, settle } from "./settle.ts";

/** How long to leave a subscription alone after a fault of our own, a full disk for one, in milliseconds. */
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
  readonly #lanes: Lanes;

  constructor(parts: { database: Database; vault: Vault; outgoing: Outgoing; rules: RetryRules; log: Log }) {
    this.#database = parts.database;
    this.#vault = parts.vault;
    this.#outgoing = parts.outgoing;
    this.#rules = parts.rules;
    this.#log = parts.log;
    this.#lanes = new Lanes({
      nextJobs: (subscriptionId, limit) => selectNextJobs(this.#database.read, subscriptionId, limit),
      work: (seq) => this.#work(seq),
    });
    parts.database.onWork((subscriptionIds) => this.#lanes.wake(subscriptionIds));
  }

  /** Looks at every active subscription: at the start, and when another process has changed the queue. */
  async wakeAll(): Promise<void> {
    this.#lanes.wake(await selectActiveSubscriptionIds(this.#database.read));
  }

  /** Begins nothing new and waits for what is under way, for ten seconds at most. */
  async stop(): Promise<void> {
    await this.#lanes.stop(stopWaitMs);
  }

  /** One attempt at one job. Resolves to how long to leave the subscription alone, in ms. */
  async #work(seq: number): Promise<number> {
    try {
      const job = await selectJob(this.#database.read, seq);
      if (!job || job.subscription.status !== "active" || job.subscription.deletedAt !== null)
        return Infinity;
      await this.#attempt(job);
      return 0;
    } catch (error) {
      this.#log.error({ err: error, job: seq }, "delivery.failed");
      return faultPauseMs;
    }
  }

  async #attempt(job: ClaimedJob): Promise<void> {
    const { subscription } = job;
    const secrets = await this.#secretsOf(job);
    if (!secrets) return;
    const notice = { id: job.eventId, type: job.eventType, envelope: job.envelope };
    const outcome = await attempt(this.#outgoing, subscription.url, prepare(notice, secrets, Date.now()));
    const settled = await this.#database.write((tx) => settle(tx, job, outcome, this.#rules));
    this.#log.info(
      {
        delivery: settled.attemptId,
        webhook: subscription.id,
        event: job.eventId,
        event_type: job.eventType,
        attempt: job.attempts + 1,
        outcome: outcome.kind,
        status: outcome.status,
        error: outcome.error,
        duration_ms: outcome.durationMs,
        next_attempt_at: settled.nextAttemptAt,
        disabled: settled.isDisabled,
      },
      "delivery.attempted",
    );
  }

  /** The secrets to sign with; where they cannot be read the subscription is disabled, and its jobs wait. */
  async #secretsOf({ subscription }: ClaimedJob): Promise<string[] | undefined> {
    try {
      return signingSecrets(this.#vault, subscription, Date.now());
    } catch (error) {
      if (!(error instanceof DomainError && error.code === "key_missing")) throw error;
      this.#log.error({ webhook: subscription.id, reason: error.message }, "webhook.secret_unreadable");
      await this.#database.write((tx) =>
        disable(tx, subscription, "webhook.auto_disabled", "parley", { reason: error.message }),
      );
      return undefined;
    }
  }
}
