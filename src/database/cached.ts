import type { Reading } from "./database.ts";

/** So many answers to one question are kept; before one more all are dropped, which costs as many look-ups. */
const answersMax = 4_096;

/** The answers by the parts of their keys, one level for each part: a key in one piece would be made for each look. */
type Answers = Map<string, unknown>;

/**
 * A question that is put to the database once, and answered from memory until the workspace changes: until its stamp is
 * another one, whichever process changed it, and inside of a write also by that write. What is asked may depend only
 * on what the stamp covers (`migrations/0004_workspace_stamp.sql`), and the answer is shared: nobody may alter it.
 * An answer of undefined is not kept.
 */
export function remembered<Key extends string[], Answer>(
  ask: (db: Reading, ...key: Key) => Answer,
): (db: Reading, ...key: Key) => Answer {
  const memories = new WeakMap<Reading, { stamp: string; answers: Answers; count: number }>();

  return (db, ...key) => {
    const stamp = db.stamp.now();
    let memory = memories.get(db);
    if (memory?.stamp !== stamp) {
      memory = { stamp, answers: new Map(), count: 0 };
      memories.set(db, memory);
    }
    const { answers } = memory;
    let known: unknown = answers;
    for (const part of key) known = (known as Answers | undefined)?.get(part);
    if (known !== undefined) return known as Answer;
    const answer = ask(db, ...key);
    if (answer !== undefined) keep(memory, key, answer);
    return answer;
  };
}

function keep(memory: { answers: Answers; count: number }, key: string[], answer: unknown): void {
  if (memory.count >= answersMax) {
    memory.answers.clear();
    memory.count = 0;
  }
  let level = memory.answers;
  for (const part of key.slice(0, -1)) {
    const next = (level.get(part) as Answers | undefined) ?? new Map<string, unknown>();
    level.set(part, next);
    level = next;
  }
  level.set(key.at(-1) ?? "", answer);
  memory.count++;
}
