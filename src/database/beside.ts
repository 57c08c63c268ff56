import type { Connection, Transaction } from "./database.ts";

/**
 * Asks without writing out first what the commit's calls have put down (`Appended`): for a synchronous question whose
 * answer does not depend on those rows, on a path where the order of statements would cost a write for each call.
 */
export function beside<T>(db: Connection, question: () => T): T {
  if (!isTransaction(db)) return question();
  const { appended } = db.commit;
  const before = appended.isLeftAside;
  appended.isLeftAside = true;
  try {
    return question();
  } finally {
    appended.isLeftAside = before;
  }
}

function isTransaction(db: Connection): db is Transaction {
  return "commit" in db;
}
