import { createHash } from "node:crypto";
import { readFileSync, statfsSync } from "node:fs";

/** The magic numbers by which `statfs(2)` names file systems on disks of this machine: ext, xfs, btrfs, zfs, f2fs. */
const diskTypes = new Set([0xef53, 0x58465342, 0x9123683e, 0x2fc12fc1, 0xf2f52010]);

/**
 * A hash of the machine's id, which survives restarts and upgrades; undefined when it has none. A container has none:
 * its `/etc/machine-id` comes from the image or changes with each start.
 */
export function machineHash(): string | undefined {
  try {
    if (!diskTypes.has(statfsSync("/").type)) return undefined;
    const id = readFileSync("/etc/machine-id", "utf8").trim();
    // A hash, because the id is meant to be kept to the machine. The text after it makes it a hash for this program.
    return /^[0-9a-f]{32}$/.test(id)
      ? createHash("sha256").update(`${id} parley`).digest("hex").slice(0, 32)
      : undefined;
  } catch {
    return undefined;
  }
}
