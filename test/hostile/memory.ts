import { existsSync, readFileSync } from "node:fs";

/** How much memory the process holds, in MiB. */
export function residentMiB(pid: number): number {
  const status = `/proc/${pid}/status`;
  const kib = existsSync(status)
    ? /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(status, "utf8"))?.[1]
    : Bun.spawnSync(["ps", "-o", "rss=", "-p", String(pid)]).stdout.toString();
  return Number(kib) / 1024;
}

/** By how many MiB the process grew, at its most, while `act` ran. */
export async function growthDuring(pid: number, act: () => Promise<void>): Promise<number> {
  const before = residentMiB(pid);
  let most = before;
  const watch = setInterval(() => {
    most = Math.max(most, residentMiB(pid));
  }, 10);
  try {
    await act();
  } finally {
    clearInterval(watch);
  }
  return Math.max(most, residentMiB(pid)) - before;
}

/**
 * By how many MiB a process grew in the round in which it grew least. A leak grows in every round; garbage
 * that waits for its collection, which a busy machine puts off, does not. Ends with the first round below `enough`, after
 * four at most.
 */
export async function leastGrowth(enough: number, growthOfRound: () => Promise<number>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 4 && least >= enough; round++) least = Math.min(least, await growthOfRound());
  return least;
}

/** By how many MiB the process is larger after `act` than before. */
export async function growthAfter(pid: number, act: () => Promise<void>): Promise<number> {
  const before = residentMiB(pid);
  await act();
  return residentMiB(pid) - before;
}
