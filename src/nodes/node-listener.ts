import type { DomainError } from "../errors.ts";

/** What a node tells its process. */
export type NodeListener = {
  /** These subscriptions have work, and this node owns them. */
  onWork: (keys: readonly string[]) => void;
  /** These subscriptions have work, whichever node owns them. */
  onWorkAnywhere: (keys: readonly string[]) => void;
  /** A command has changed something about deliveries, or notices were missed. */
  onAnyWork: () => void;
  /** It is time to look for work: this node may own more than before, or another may have ended without telling. */
  onLook: () => void;
  /** A newer version has changed the tables, or the workspace was moved, while this node had no session: it must end. */
  onTooOld: (error: DomainError) => void;
};
