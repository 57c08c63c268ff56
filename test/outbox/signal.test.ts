import { describe, test } from "bun:test";
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { signalWork, watchForWork } from "../../src/outbox/signal.ts";
import { until } from "../support/conditions.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Watches the folder and counts the calls. */
function watching(
  dataDir: string,
  onLook: (looks: number) => void = () => {},
): { looks: number } & Disposable {
  const seen = { looks: 0, [Symbol.dispose]: () => stop() };
  const stop = watchForWork(dataDir, () => {
    seen.looks += 1;
    onLook(seen.looks);
  });
  return seen;
}

describe("a signal of work", () => {
  test("is seen by a watcher of the folder, even if it is the first signal there", async () => {
    using folder = temporaryFolder();
    using watcher = watching(folder.path);
    signalWork(folder.path);
    await until("it is seen", () => watcher.looks > 0);
  });

  test("is seen when it comes at the moment in which the previous one is handled", async () => {
    using folder = temporaryFolder();
    for (let round = 0; round < 10; round++) {
      let looksAtSecond = 0;
      using watcher = watching(folder.path, (looks) => {
        if (looks > 1) return;
        signalWork(folder.path);
        looksAtSecond = looks;
      });
      signalWork(folder.path);
      await until("both are seen", () => looksAtSecond > 0 && watcher.looks > looksAtSecond);
    }
  });

  test("is seen after the file that carries it was deleted", async () => {
    using folder = temporaryFolder();
    using watcher = watching(folder.path);
    rmSync(join(folder.path, "queue.signal"));
    await until("the deletion is seen", () => watcher.looks > 0);
    const looksBefore = watcher.looks;
    signalWork(folder.path);
    await until("the signal is seen", () => watcher.looks > looksBefore + 1);
  });

  test("is seen again once the file can be recreated, if it could not be at first", async () => {
    using folder = temporaryFolder();
    const dataDir = join(folder.path, "data");
    mkdirSync(dataDir);
    using watcher = watching(dataDir);
    rmSync(dataDir, { recursive: true });
    // If the folder were back before the deletion is seen, nothing would have failed.
    await Bun.sleep(100);
    mkdirSync(dataDir);
    await until("it is watched again", () => existsSync(join(dataDir, "queue.signal")));
    const looksBefore = watcher.looks;
    signalWork(dataDir);
    await until("the signal is seen", () => watcher.looks > looksBefore);
  });
});
