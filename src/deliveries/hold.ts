import type { Connection, Database } from "../database/database.ts";
import { connectionsOf } from "../database/postgres/open.ts";
import type { Log } from "../log/log.ts";
import { timestamp } from "../timestamp.ts";
import { type KnownMarkers, suspect, type Suspicion } from "./copies.ts";
import {
  hasWork,
  insertHold,
  selectCopy,
  selectHold,
  selectHoldExceptions,
  selectLastAttempt,
  selectLastEvent,
  updateCopy,
} from "./hold-store.ts";
import { type KnownPlaces, placesOfFile, placesOfPostgres } from "./known-places.ts";
import { type Marker, MarkerFile, thisPlace } from "./marker.ts";
import { newId, now } from "../system/repeatable.ts";

/** Why nothing is delivered, and since when. */
export type Hold = Suspicion & { since: string };

/** The hold on the deliveries of this workspace; undefined when they are not held. Reads one row. */
export function holdOf(db: Connection): Hold | undefined {
  const hold = selectHold(db);
  return hold && { kind: hold.kind, reason: hold.reason, since: timestamp(hold.since) };
}

/** The subscriptions that are delivered to in spite of the hold; undefined when deliveries are not held. */
function exceptionsOfHold(db: Connection): Set<string> | undefined {
  return selectHold(db) && selectHoldExceptions(db);
}

type HoldParts = { database: Database; dataDir: string; log: Log };

/**
 * Keeps a running server from sending events that were delivered already, after its database was set back or copied.
 * At the start it compares the database with the marker; from then on it keeps the marker. A hold begins only at a
 * start, and ends when an operator decides (`held.ts`).
 */
export class DeliveryHold {
  readonly #database: Database;
  readonly #dataDir: string;
  readonly #baseUrl: string;
  readonly #places: KnownPlaces;
  readonly #log: Log;
  #marker: MarkerFile | undefined;
  /** The subscriptions that are delivered to in spite of the hold; undefined without one. */
  #exceptions: Set<string> | undefined;

  private constructor({ database, dataDir, log }: HoldParts, baseUrl: string, places: KnownPlaces) {
    this.#database = database;
    this.#dataDir = dataDir;
    this.#baseUrl = baseUrl;
    this.#places = places;
    this.#log = log;
  }

  /**
   * Decides whether deliveries are held, and writes the marker if not. The caller is the only server of the folder. Where
   * other servers use the same database, they have decided.
   * @throws DomainError `invalid` for a symbolic link in place of a marker; the operating system's error; what
   *   `Database.write` throws.
   */
  static async begin(parts: HoldParts, baseUrl: string): Promise<DeliveryHold> {
    const connections = connectionsOf(parts.database);
    const places = connections
      ? await placesOfPostgres(connections, parts.dataDir, baseUrl)
      : placesOfFile(parts.dataDir, baseUrl);
    const hold = new DeliveryHold(parts, baseUrl, places);
    await hold.#decide();
    return hold;
  }

  /** Whether nothing may be sent to the subscription now. */
  isHeld(subscriptionId: string): boolean {
    return this.#exceptions?.has(subscriptionId) === false;
  }

  /** Call this with the number of an attempt after the commit that logs it. */
  settled(attempt: number): void {
    this.#marker?.settled(attempt);
  }

  /**
   * Learns what an operator has decided meanwhile. At the end of a hold the new marker is on disk when this returns, so
   * that deliveries may begin.
   * @throws the operating system's error; what `Database.write` throws.
   */
  async refresh(): Promise<void> {
    // Another server of the same database may have begun a hold, but no other of the same folder.
    if (!this.#exceptions && this.#database.file) return;
    const { exceptions, lastAttempt } = await this.#database.ask((db) => ({
      exceptions: exceptionsOfHold(db),
      lastAttempt: selectLastAttempt(db),
    }));
    if (!exceptions) {
      await this.#end();
      // So that this server too finds out at its start if the database was set back meanwhile.
      return this.settled(lastAttempt);
    }
    this.#exceptions = exceptions;
    this.#marker?.close();
    this.#marker = undefined;
  }

  /** Writes the number of the last attempt now. */
  close(): void {
    this.#marker?.close();
  }

  async #decide(): Promise<void> {
    const { copyId } = await this.#database.ask(selectCopy);
    const markers = await this.#places.find(copyId);
    if (!(await this.#database.ask(selectHold)) && (await this.#places.mayBeCopy(markers)))
      await this.#compare(markers);
    const hold = await this.#database.ask(selectHold);
    if (!hold) return await this.#keepMarker(markers);
    this.#exceptions = await this.#database.ask(selectHoldExceptions);
    const { kind, reason, since } = hold;
    const remedy =
      "See what waits with parley deliveries held, then run parley deliveries release or discard.";
    this.#log.warn({ kind, reason: `${reason} ${remedy}`, since: timestamp(since) }, "deliveries.held");
  }

  async #compare(markers: readonly Marker[]): Promise<void> {
    const { accepted, ...copy } = await this.#database.ask((db) => ({
      ...selectCopy(db),
      lastAttempt: selectLastAttempt(db),
      hasWork: hasWork(db),
    }));
    const suspicion = suspect({
      ...copy,
      markers,
      place: this.#places.place,
      elsewhere: this.#places.elsewhere,
      accepted: accepted === null ? undefined : (JSON.parse(accepted) as KnownMarkers),
    });
    if (!suspicion) return;
    const known = JSON.stringify(this.#known(markers));
    await this.#database.write((tx) => {
      // Servers of one database may start at once.
      if (selectHold(tx)) return;
      insertHold(tx, { ...suspicion, since: now(), lastEvent: selectLastEvent(tx), markers: known });
    });
  }

  // The database names the markers that may be replaced before that happens, and forgets them afterwards: whatever is
  // interrupted in between, the next start finds either those or the new one.
  async #keepMarker(markers: readonly Marker[]): Promise<void> {
    const { copyId: known, attempt } = await this.#database.ask((db) => ({
      ...selectCopy(db),
      attempt: selectLastAttempt(db),
    }));
    const copyId = known ?? (await this.#newCopy(markers));
    await this.#places.keep(copyId);
    const place = thisPlace(this.#baseUrl);
    this.#marker = new MarkerFile(this.#dataDir, { copy: copyId, place, attempt }, (error) =>
      this.#log.error({ err: error }, "deliveries.marker_failed"),
    );
    if ((await this.#database.ask(selectCopy)).accepted === null) return;
    await this.#database.write((tx) => {
      if (selectCopy(tx).copyId === copyId) updateCopy(tx, { copyId, accepted: null });
    });
  }

  async #newCopy(markers: readonly Marker[]): Promise<string> {
    const accepted = JSON.stringify(this.#known(markers));
    return await this.#database.write((tx) => {
      const { copyId: ofOther } = selectCopy(tx);
      if (ofOther !== null) return ofOther;
      const copyId = newId();
      updateCopy(tx, { copyId, accepted });
      return copyId;
    });
  }

  async #end(): Promise<void> {
    if (!this.#marker) await this.#keepMarker(await this.#places.find(null));
    if (!this.#exceptions) return;
    this.#exceptions = undefined;
    this.#log.info("deliveries.released");
  }

  #known(markers: readonly Marker[]): KnownMarkers {
    return {
      machine: this.#places.place.machine ?? null,
      fingerprints: markers.map(({ fingerprint }) => fingerprint),
    };
  }
}
