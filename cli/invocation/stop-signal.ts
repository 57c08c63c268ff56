import { readFileSync } from "node:fs";

/** The signals that ask a process to stop. */
const stopSignals = ["SIGTERM", "SIGINT", "SIGQUIT", "SIGHUP"] as const;

/** Fatal by default, but commonly sent to make a server reload its settings or reopen its log. */
const ignoredSignals = ["SIGUSR1", "SIGUSR2"] as const;

/**
 * Resolves on the first stop signal; the second one exits immediately with status 1. SIGHUP never counts as the second,
 * because closing a terminal may send it more than once, and is ignored under nohup.
 */
export function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    let isStopping = false;
    const stop = (signal: NodeJS.Signals) => {
      if (isStopping && signal !== "SIGHUP") process.exit(1);
      isStopping = true;
      resolve();
    };
    for (const signal of stopSignals) {
      if (signal !== "SIGHUP" || !isHangUpIgnored()) process.on(signal, stop);
    }
    for (const signal of ignoredSignals) process.on(signal, () => {});
  });
}

/** Whether the process was started with SIGHUP ignored, as by nohup; false where the system does not say. */
function isHangUpIgnored(): boolean {
  try {
    const mask = /^SigIgn:\s*([0-9a-f]+)/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "0";
    // SIGHUP is signal 1, the lowest bit.
    return (Number.parseInt(mask.slice(-1), 16) & 1) === 1;
  } catch {
    return false;
  }
}
