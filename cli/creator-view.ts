import type { Reading } from "../src/database/open.ts";
import { findCreator } from "../src/subscriptions/creators.ts";

/** Who created a subscription, as people call them: `Ada`, `Build Bot (deleted)`, `cli:root`, `unknown`. */
export function creatorTitle(db: Reading, teamId: string, createdBy: string): string {
  const { name, isGone, isBot } = findCreator(db, teamId, createdBy);
  return isGone ? `${name} (${isBot ? "deleted" : "deactivated"})` : name;
}
