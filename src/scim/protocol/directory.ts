/** The team whose people and channels the directory manages, and the URL of its `/scim/v2`. */
export type Directory = { teamId: string; root: string };

/** The directory's name in the audit log. */
export const scimActor = "scim";
