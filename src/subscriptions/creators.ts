import type { Reading } from "../database/open.ts";
import { selectActor } from "../users/store.ts";

/** Who created the subscription, by name, and whether they were deactivated or deleted since. */
export function findCreator(
  db: Reading,
  teamId: string,
  createdBy: string,
): { name: string; isGone: boolean; isBot: boolean } {
  const user = selectActor(db, teamId, createdBy);
  if (!user) return { name: createdBy, isGone: false, isBot: false };
  return { name: user.name, isGone: user.deactivatedAt !== null, isBot: user.type === "bot" };
}
