import { readFileSync } from "node:fs";

/** What is sent to end a process. */
const stopSignals = ["SIGTERM", "SIGINT", "SIGQUIT", "SIGHUP"] as const;

/** What would end it at once, and is sent to other programs to make them read their settings or open their log again. */
const ignoredSignals = ["SIGUSR1", "SIGUSR2"] as const;

/**
 * Resolves with the first signal to stop; the second one ends the process at once. SIGHUP is never that second one,
 * because a terminal that is closed may send it more than once, and is nothing at all where nohup has said so.
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

/** Whether the process was started with SIGHUP ignored, as nohup does. Where the system does not tell: it was not. */
function isHangUpIgnored(): boolean {
  try {
    const mask = /^SigIgn:\s*([0-9a-f]+)/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "0";
    // Signal 1 is the lowest bit.
    return (Number.parseInt(mask.slice(-1), 16) & 1) === 1;
  } catch {
    return false;
  }
}
