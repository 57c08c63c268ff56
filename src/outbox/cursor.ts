/** A place in the order of events: after the one with this number. */
export type Place = {
  seq: number;
  /**
   * The end of the event's id, which tells it from another one that has its number in an older copy of the data. `start`
   * where a subscription's events begin: there may be no event of that number.
   */
  mark: string;
};

/** The mark of the place where a subscription's events begin. */
export const startMark = "start";

const pattern = /^([0-9a-z]{1,11})-([0-9a-f]{12}|start)$/;

/** The longest text that can be a cursor. */
export const cursorLengthMax = 24;

/** The mark of an event with this id. */
export function markOf(eventId: string): string {
  return eventId.slice(-12);
}

/** Returns the cursor of the place, as receivers and readers get it: they need not know what is in it. */
export function cursorOf({ seq, mark }: Place): string {
  return `${seq.toString(36)}-${mark}`;
}

/** Returns the place of the cursor; undefined if the text is none. */
export function placeOf(cursor: string): Place | undefined {
  const [, digits = "", mark = ""] = pattern.exec(cursor) ?? [];
  const seq = Number.parseInt(digits, 36);
  return Number.isSafeInteger(seq) ? { seq, mark } : undefined;
}
