import type { Reading } from "./open.ts";

/** So many answers to one question are kept; before one more all are dropped, which costs as many look-ups. */
const answersMax = 4_096;

/**
 * A question that is put to the database once, and answered from memory until the workspace changes: until its stamp is
 * another one, whichever process changed it, and inside of a write also by that write. What is asked may depend only
 * on what the stamp covers (`migrations/0004_workspace_stamp.sql`), and the answer is shared: nobody may alter it.
 * `isKept` leaves out answers that are too large.
 */
export function remembered<Key extends string[], Answer>(
  ask: (db: Reading, ...key: Key) => Promise<Answer>,
  isKept: (answer: Answer) => boolean = () => true,
): (db: Reading, ...key: Key) => Answer | Promise<Answer> {
  const memories = new WeakMap<Reading, { stamp: string; answers: Map<string, Answer> }>();

  return (db, ...key) => {
    const stamp = db.stamp.now();
    let memory = memories.get(db);
    if (memory?.stamp !== stamp) {
      memory = { stamp, answers: new Map() };
      memories.set(db, memory);
    }
    // No part of a key holds a space: they are ids, hashes and names of event types.
    const { answers } = memory;
    const place = key.join(" ");
    const known = answers.get(place);
    if (known !== undefined || answers.has(place)) return known as Answer;
    return ask(db, ...key).then((answer) => {
      // Into the answers of then: those of a workspace that has changed meanwhile are nobody's any more.
      if (answers.size >= answersMax) answers.clear();
      if (isKept(answer)) answers.set(place, answer);
      return answer;
    });
  };
}
