import { loginNameOf } from "../../src/system/libc.ts";

/** Who the audit log says has done it: `cli:` and the login name, or the number of a login without a name. */
export function cliActor(): string {
  return `cli:${loginName()}`;
}

/**
 * The name that the operating system knows the caller by. It is asked itself: Bun's `userInfo` believes what `USER` says,
 * and `id` is whatever lies first on the PATH, which anybody can choose.
 */
export function loginName(): string {
  const number = process.geteuid?.();
  if (number === undefined) return "unknown";
  return loginNameOf(number) ?? `${number}`;
}
