import { Type } from "@sinclair/typebox";
import { checkOf, Text } from "./validation.ts";

const check = checkOf(
  Type.Object({ name: Text({ maxLength: 255, minLength: 1, isTrimmed: true, isName: true }) }),
);

/**
 * Returns the name of a team, person, bot, token or incoming webhook, trimmed: 1 to 255 code points on one line.
 * @throws DomainError `invalid` on `name`.
 */
export function checkName(name: unknown): string {
  return check({ name }).name;
}
