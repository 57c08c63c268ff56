import type { Database } from "../database/database.ts";
import { type Destination, updateCertificate } from "../subscriptions/store.ts";
import type { Outcome } from "./attempt.ts";

type Seen = Pick<Outcome, "certificateEndsAt">;

/**
 * So often is the end of a receiver's certificate written at most, in milliseconds. A receiver on several machines, each
 * with its own, would otherwise have one written with each delivery.
 */
const writeMs = 60_000;

/** When receivers' certificates end. What has not changed since this process wrote it is not written again. */
export class Certificates {
  readonly #database: Database;
  /** What was written last, by the id of the subscription. */
  readonly #known = new Map<string, { url: string; endsAt: number; at: number }>();

  constructor(database: Database) {
    this.#database = database;
  }

  /** Whether the attempt has seen a certificate with another end than the one written, so that it is to be written. */
  isNews({ id, url }: Destination, { certificateEndsAt: endsAt }: Seen): boolean {
    if (endsAt === undefined) return false;
    const known = this.#known.get(id);
    if (known?.url !== url) return true;
    return known.endsAt !== endsAt && performance.now() - known.at >= writeMs;
  }

  /** Stores when the certificate ends that the attempt has seen, if it has seen one. */
  async note({ id, url }: Destination, { certificateEndsAt: endsAt }: Seen): Promise<void> {
    if (endsAt === undefined) return;
    await this.#database.write((tx) => updateCertificate(tx, { id, url }, endsAt));
    this.#known.set(id, { url, endsAt, at: performance.now() });
  }
}
