import { createHash } from "node:crypto";
import type { Connections } from "../database/postgres/connections.ts";
import { selectNodes } from "../nodes/store.ts";
import { findMarkers, type Marker, type Place, thisPlace } from "./marker.ts";

/** What tells whether the database is where it was. */
export type KnownPlaces = {
  /** Where it is. */
  place: Place;
  /** What another such place is, in words; known after `find`. */
  readonly elsewhere: string;
  /** What says where it was, of this copy or of others. */
  find(copyId: string | null): Promise<Marker[]>;
  /** Whether it may have been set back or copied, if this is all that says where it was. */
  mayBeCopy(found: readonly Marker[]): Promise<boolean>;
  /** Notes that it is here, besides the marker in the data folder. */
  keep(copyId: string): Promise<void>;
};

/** Of a database in the data folder: the markers next to it tell. */
export function placesOfFile(dataDir: string, baseUrl: string): KnownPlaces {
  return {
    place: thisPlace(baseUrl),
    elsewhere: "on another machine",
    find: async () => findMarkers(dataDir),
    mayBeCopy: async () => true,
    keep: async () => {},
  };
}

/**
 * Of a database that servers share: a row in it says in which database it is, which a copy brings along. The markers in
 * the servers' folders only tell how many attempts there were: the folders come and go.
 */
export async function placesOfPostgres(
  connections: Connections,
  dataDir: string,
  baseUrl: string,
): Promise<KnownPlaces> {
  const place = { ...thisPlace(baseUrl), machine: await identityOf(connections) };
  let isOfThisDatabase = false;
  return {
    place,
    get elsewhere() {
      return isOfThisDatabase ? "here before a dump was restored" : "in another database";
    },
    async find(copyId) {
      const inFolder = findMarkers(dataDir).filter(({ text }) => text?.copy === copyId);
      const row = await rowAsMarker(connections);
      isOfThisDatabase = databaseIn(row[0]?.text?.machine) === databaseIn(place.machine);
      return [...row, ...inFolder.map((marker) => withoutPlace(marker))];
    },
    // Where other servers use the database now, they have decided.
    mayBeCopy: async (found) => found.length > 0 && (await selectNodes(connections)).length === 0,
    async keep(copyId) {
      await connections.query(
        `INSERT INTO delivery_place (id, copy_id, machine, host) VALUES (1, $1, $2, $3)
         ON CONFLICT (id) DO UPDATE SET copy_id = excluded.copy_id,
           machine = coalesce(excluded.machine, delivery_place.machine),
           host = coalesce(excluded.host, delivery_place.host)`,
        [copyId, place.machine, place.host],
      );
    },
  };
}

/**
 * Tells this database from all others, also from itself after a dump was restored in its place, which makes the tables
 * anew. Undefined if it may not be read.
 */
async function identityOf(connections: Connections): Promise<string | undefined> {
  try {
    const { rows } = await connections.query(
      `SELECT concat_ws('/', system_identifier, oid, 'delivery_place'::regclass::oid)
       FROM pg_control_system(), pg_database WHERE datname = current_database()`,
    );
    return rows[0]?.[0] as string;
  } catch {
    return undefined;
  }
}

/** An identity without the table's part. */
function databaseIn(identity: string | null | undefined): string | undefined {
  return identity?.slice(0, identity.lastIndexOf("/"));
}

async function rowAsMarker(connections: Connections): Promise<Marker[]> {
  const { rows } = await connections.query("SELECT copy_id, machine, host FROM delivery_place");
  return rows.map((row) => {
    const [copy, machine, host] = row as [string, string | null, string | null];
    const fingerprint = createHash("sha256").update(JSON.stringify(row)).digest("hex");
    return { path: "", attempt: 0, text: { copy, machine, host, born: null }, isCopied: false, fingerprint };
  });
}

function withoutPlace(marker: Marker): Marker {
  const { text } = marker;
  return { ...marker, isCopied: false, text: text && { ...text, machine: null, host: null } };
}
