/** Who the audit log says has done it: `cli:` and the login name, or the number of a login without a name. */
export function cliActor(): string {
  return `cli:${loginName()}`;
}

/**
 * The name that the operating system knows the caller by. It is asked itself, because Bun's `userInfo` believes what
 * `USER` says: a name that anybody can choose, and none at all under cron or in a container.
 */
export function loginName(): string {
  const number = String(process.getuid?.() ?? "unknown");
  try {
    // Fails where no name belongs to the number, as in some containers.
    const { success, stdout } = Bun.spawnSync(["id", "-un"], { stderr: "ignore" });
    return (success && stdout.toString().trim()) || number;
  } catch {
    return number;
  }
}
