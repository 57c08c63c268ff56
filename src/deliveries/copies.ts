import type { HoldRow } from "./hold-store.ts";
import type { Marker, Place } from "./marker.ts";

/** Why deliveries are held: this database is an older state of the workspace, or a copy of it in another place. */
export type Suspicion = Pick<HoldRow, "kind" | "reason">;

/** Markers that an operator has decided about, and the machine on which they were found. */
export type KnownMarkers = { machine: string | null; fingerprints: string[] };

/** What is compared: the markers next to the database with what the database holds, and where this server runs. */
export type Evidence = {
  markers: readonly Marker[];
  place: Place;
  /** What another machine is, in words. */
  elsewhere: string;
  /** Null when no server that writes markers has used this database yet. */
  copyId: string | null;
  /** The number of the database's last attempt. */
  lastAttempt: number;
  /** Whether any event waits to be sent. */
  hasWork: boolean;
  accepted: KnownMarkers | undefined;
};

/** Returns why this may be an older or foreign copy of a workspace, or undefined when nothing speaks for that. */
export function suspect(evidence: Evidence): Suspicion | undefined {
  const { markers, place, elsewhere, copyId, lastAttempt, hasWork, accepted } = evidence;
  const known = accepted?.machine === (place.machine ?? null) ? accepted.fingerprints : undefined;
  const unknown = markers.filter(({ fingerprint }) => !known?.includes(fingerprint));
  if (known && unknown.length === 0) return undefined;
  const readable = unknown.filter(({ text }) => text !== undefined);
  if (copyId === null)
    return readable.length === 0 ? undefined : older("a version that kept no marker used it");
  if (readable.length === 0) {
    if (lastAttempt === 0 && !hasWork) return undefined;
    return foreign(unknown.length > 0 ? "its marker cannot be read" : "its marker is missing");
  }
  const newer = readable.find(({ text, attempt }) => text?.copy === copyId && attempt > lastAttempt);
  if (newer) {
    return older(`it knows of ${lastAttempt} attempts, and ${newer.attempt} were made here`);
  }
  for (const marker of readable) {
    const why = whyForeign(marker, { place, elsewhere, copyId });
    if (why !== undefined) return foreign(why);
  }
  return undefined;
}

function whyForeign(
  { text, isCopied }: Marker,
  { place, elsewhere, copyId }: Pick<Evidence, "place" | "elsewhere" | "copyId">,
): string | undefined {
  if (!text) return undefined;
  if (text.copy !== copyId) return "its marker belongs to another copy";
  if (isCopied) return "its marker was copied, as the folder was";
  if (differ(text.machine, place.machine)) return `it was used ${elsewhere}`;
  if (differ(text.host, place.host))
    return `the host of PARLEY_BASE_URL was ${text.host} and is ${place.host}`;
  return undefined;
}

/** Whether both are known and not the same. */
function differ(before: string | null, now: string | undefined): boolean {
  return before !== null && now !== undefined && before !== now;
}

function older(why: string): Suspicion {
  return { kind: "older_copy", reason: `This is an older copy: ${why}.` };
}

function foreign(why: string): Suspicion {
  return { kind: "foreign_copy", reason: `This is a copy from elsewhere: ${why}.` };
}
