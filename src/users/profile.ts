import type { Connection } from "../database/database.ts";
import { selectUserByUserName, type UserRow } from "./store.ts";

/** What a company directory knows a person by; a bot has nothing of it. */
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
 * The profile of a person who does not come from a directory, so that one that is connected later finds everybody: by
 * the e-mail address, else by the name, else, where somebody else is found by that, by a random name. Directories
 * refuse to work with people who lack either part of a name, so one that is a single word stands for both.
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
    userName: isTaken ? Bun.randomUUIDv7() : wanted,
    externalId: null,
    displayName: name,
    givenName: space < 0 ? name : name.slice(0, space),
    familyName: space < 0 ? name : name.slice(space + 1),
    formattedName: null,
  };
}
