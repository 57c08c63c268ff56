import type { Connection } from "./database.ts";

/** So many answers to one question are kept; before one more all are dropped, which costs as many look-ups. */
const answersMax = 4_096;

/** The answers by the parts of their keys, one level for each part: a key in one piece would be made for each look. */
type Answers = Map<string, unknown>;

/**
 * Asks the database once and answers from memory until the cache version changes, whichever process changed it and, inside
 * a write, also by that write: cached answers are valid for one version. What is asked may depend only on what the version
 * covers (`migrations/0004_workspace_stamp.sql`). The answer is shared, so nobody may alter it. Undefined is not kept.
 */
export function cached<Key extends string[], Answer>(
  ask: (db: Connection, ...key: Key) => Answer,
): (db: Connection, ...key: Key) => Answer {
  const memories = new WeakMap<Connection, { version: string; answers: Answers; count: number }>();

  return (db, ...key) => {
    const version = db.cacheVersion.now();
    let memory = memories.get(db);
    if (memory?.version !== version) {
      memory = { version, answers: new Map(), count: 0 };
      memories.set(db, memory);
    }
    const { answers } = memory;
    let known: unknown = answers;
    for (const part of key) known = (known as Answers | undefined)?.get(part);
    if (known !== undefined) return known as Answer;
    const answer = ask(db, ...key);
    if (answer !== undefined) keepAnswer(memory, key, answer);
    return answer;
  };
}

function keepAnswer(memory: { answers: Answers; count: number }, key: string[], answer: unknown): void {
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
