/** The team whose people and channels a directory manages, and the address of its `/scim/v2`. */
export type Directory = { teamId: string; root: string };

/** How the audit log names the directory. */
export const scimActor = "scim";
