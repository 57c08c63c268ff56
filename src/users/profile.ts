import type { Connection } from "../database/database.ts";
import { selectUserByUserName, type UserRow } from "./store.ts";
import { newId } from "../system/repeatable.ts";

/** What identifies and names a person in a company directory (SCIM); all null for a bot. */
export type Profile = Pick<
  UserRow,
  "userName" | "externalId" | "displayName" | "givenName" | "familyName" | "formattedName"
>;

export const noProfile: Profile = {
  userName: null,
  externalId: null,
  displayName: null,
  givenName: null,
  familyName: null,
  formattedName: null,
};

/**
 * Returns the profile of a person who does not come from a directory, so that a directory connected later finds them.
 * `userName` is the e-mail address, or else the name; if that is taken, a random UUID. Directories reject people who
 * lack a given or a family name, so a single-word name serves as both.
 */
export async function firstProfile(
  db: Connection,
  teamId: string,
  { name, email }: { name: string; email: string | null },
): Promise<Profile> {
  const wanted = email ?? name;
  const isTaken = (await selectUserByUserName(db, teamId, wanted)) !== undefined;
  const space = name.indexOf(" ");
  return {
    userName: isTaken ? newId() : wanted,
    externalId: null,
    displayName: name,
    givenName: space < 0 ? name : name.slice(0, space),
    familyName: space < 0 ? name : name.slice(space + 1),
    formattedName: null,
  };
}
