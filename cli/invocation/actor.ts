import { loginNameOf } from "../../src/system/libc.ts";

/** The actor for the audit log: `cli:` and the login name, or the user id if it has no name. */
export function cliActor(): string {
  return `cli:${loginName()}`;
}

/**
 * The caller's login name according to the operating system; its user id if it has no name. Asks libc: Bun's `userInfo`
 * trusts the variable `USER`, and `id` is whatever comes first on the PATH, so the caller could forge either.
 */
export function loginName(): string {
  const number = process.geteuid?.();
  if (number === undefined) return "unknown";
  return loginNameOf(number) ?? `${number}`;
}
