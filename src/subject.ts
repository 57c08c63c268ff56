/** What a person may do in a team; bots have no role. */
export const roles = ["owner", "admin", "member"] as const;
export type Role = (typeof roles)[number];

/** Whoever a request acts as: a bot, or a human with that person's own memberships and permissions. */
export type Subject = {
  id: string;
  teamId: string;
  name: string;
  type: "human" | "bot";
  /** Null for a bot. */
  role: Role | null;
};

/** Whether the subject may archive any channel and manage the members of any private channel of its team. */
export function isTeamAdmin(subject: Pick<Subject, "role">): boolean {
  return subject.role === "owner" || subject.role === "admin";
}

/** How the audit log names the subject. */
export function actorOf({ type, id }: Pick<Subject, "type" | "id">): string {
  return `${type}:${id}`;
}
