import type { SaidRow } from "./store.ts";

/** Something that has changed since it was last spoken of. */
export type Alert = Pick<SaidRow, "about" | "state"> & {
  /** What to say; null for what is over and needs no message. */
  body: string | null;
};

/** What was said last about a thing; undefined when nothing was. */
export type Said = Pick<SaidRow, "state" | "at"> | undefined;
