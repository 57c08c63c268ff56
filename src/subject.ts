/** A person's role in a team; bots have none. */
export const roles = ["owner", "admin", "member"] as const;
export type Role = (typeof roles)[number];

/** The identity that a request acts as: a bot, or a human with that person's memberships and permissions. */
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

/** The subject's name in the audit log. */
export function actorOf({ type, id }: Pick<Subject, "type" | "id">): string {
  return `${type}:${id}`;
}
