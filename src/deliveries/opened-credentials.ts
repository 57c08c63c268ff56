import type { Database } from "../database/database.ts";
import { DomainError } from "../errors.ts";
import type { Log } from "../log/log.ts";
import type { Vault } from "../secrets/vault.ts";
import { type Credentials, credentialsOf } from "../subscriptions/secrets.ts";
import { type Destination, selectDestination } from "../subscriptions/store.ts";
import { workspaceTime } from "../system/workspace-clock.ts";

/**
 * Opens what deliveries are signed and sent with, and remembers the subscriptions for which that fails: they stay active,
 * and their jobs wait. Only an operator can fix it, and no event may be lost meanwhile.
 */
export class OpenedCredentials {
  readonly #vault: Vault;
  readonly #log: Pick<Log, "error">;
  readonly #unreadable = new Set<string>();

  constructor(vault: Vault, log: Pick<Log, "error">) {
    this.#vault = vault;
    this.#log = log;
  }

  /** Returns the subscription's credentials; undefined if one cannot be decrypted, which is logged once. */
  of(destination: Destination): Credentials | undefined {
    const { id } = destination;
    const opened = this.#try(destination);
    if (!(opened instanceof DomainError)) return opened;
    if (!this.#unreadable.has(id))
      this.#log.error({ webhook: id, reason: opened.message }, "webhook.secret_unreadable");
    this.#unreadable.add(id);
    return undefined;
  }

  /** Whether the subscription's credentials could not be decrypted. */
  areUnreadable(subscriptionId: string): boolean {
    return this.#unreadable.has(subscriptionId);
  }

  /** Whether those of any subscription could not. */
  get hasFailed(): boolean {
    return this.#unreadable.size > 0;
  }

  /** Forgets all failures, because secrets may have changed. */
  forgetFailures(): void {
    this.#unreadable.clear();
  }

  /** Forgets the failures of those that can be decrypted by now, as after a request that gave headers again. */
  async recheck(database: Database, subscriptionIds: Iterable<string>): Promise<void> {
    for (const id of subscriptionIds) {
      if (!this.#unreadable.has(id)) continue;
      const destination = await database.ask((db) => selectDestination(db, id));
      if (destination && !(this.#try(destination) instanceof DomainError)) this.#unreadable.delete(id);
    }
  }

  #try(destination: Destination): Credentials | DomainError {
    try {
      return credentialsOf(this.#vault, destination, workspaceTime());
    } catch (error) {
      if (error instanceof DomainError && error.code === "key_missing") return error;
      throw error;
    }
  }
}
