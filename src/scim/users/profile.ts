import { checkName } from "../../input/name.ts";
import { isNameable, trim } from "../../input/text.ts";
import type { Profile } from "../../users/profile.ts";
import type { Email, UserRow } from "../../users/store.ts";
import { Document } from "../protocol/document.ts";
import { scimError } from "../protocol/errors.ts";
import { placeholderEmail } from "./resource.ts";

/** A person as the directory wants it. `active` and `role` stay as they are when undefined. */
export type DesiredUser = {
  fields: Profile & { userName: string } & Pick<UserRow, "name" | "email">;
  emails: Email[];
  active: boolean | undefined;
  role: UserRow["role"] | undefined;
};

/**
 * Reads the person from the document; `id` is set for one who exists.
 * @throws ScimError `invalidValue` without a usable `userName`; DomainError `invalid` for an invalid name.
 */
export function desiredUserOf(document: Document, id?: string): DesiredUser {
  const text = (path: string) => document.text(path) ?? null;
  const userName = text("userName");
  if (userName === null || trim(userName) === "" || !isNameable(userName)) {
    throw scimError("invalidValue", "userName is required, and takes a string without control characters.");
  }
  const given = {
    userName,
    externalId: text("externalId"),
    displayName: text("displayName"),
    givenName: text("name.givenName"),
    familyName: text("name.familyName"),
    formattedName: text("name.formatted"),
  };
  const emails = (document.list("emails") ?? [])
    .map(({ value, type, primary }) => ({
      value: String(value),
      type: typeof type === "string" ? type : null,
      isPrimary: primary === true,
    }))
    .filter(({ value }) => id === undefined || value !== placeholderEmail(id));
  const main = emails.find(({ isPrimary }) => isPrimary) ?? emails[0];
  return {
    fields: { ...given, name: nameOf(given), email: main?.value ?? null },
    emails,
    active: document.truth("active"),
    role: roleOf(document),
  };
}

/** Returns the document that describes the person as stored, for a PATCH to change. */
export function documentOf(row: UserRow, emails: readonly Email[]): Document {
  const document = new Document();
  document.put("userName", row.userName);
  document.put("externalId", row.externalId);
  document.put("displayName", row.displayName);
  document.put("name.givenName", row.givenName);
  document.put("name.familyName", row.familyName);
  document.put("name.formatted", row.formattedName);
  document.put("active", row.deactivatedAt === null);
  document.putList("roles", [{ value: row.role ?? "member", primary: true }]);
  document.putList(
    "emails",
    emails.map(({ value, type, isPrimary }) => ({
      value,
      ...(type !== null && { type }),
      primary: isPrimary,
    })),
  );
  return document;
}

/** The name shown to the team: the first of these that is not empty. */
function nameOf({ displayName, formattedName, givenName, familyName, userName }: Profile): string {
  const parts = [givenName, familyName].filter((part) => part !== null).join(" ");
  const name = [displayName, formattedName, parts, userName].find(
    (each) => each !== null && trim(each) !== "",
  );
  return checkName(name);
}

/** The highest role in the list; any other list, an empty one included, makes a member. */
function roleOf(document: Document): DesiredUser["role"] {
  const roles = document.list("roles")?.map(({ value }) => String(value).toLowerCase());
  if (roles === undefined) return undefined;
  if (roles.includes("owner")) return "owner";
  return roles.includes("admin") ? "admin" : "member";
}
