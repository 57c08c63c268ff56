import type { Config } from "../config.ts";
import type { Database } from "../database/database.ts";
import type { Log } from "../log/log.ts";
import type { Node } from "../nodes/node.ts";
import type { NodeListener } from "../nodes/node-listener.ts";
import { watchForWork } from "../outbox/signal.ts";
import { FanOutLoop, fanOutsKey } from "./fan-out-loop.ts";
import { QueueClock } from "./queue-clock.ts";
import { Worker, type WorkerParts } from "./worker.ts";

/** What makes the deliveries. */
export type Deliveries = Pick<NodeListener, "onWork" | "onAnyWork" | "onLook"> & {
  worker: Worker;
  fanOutLoop: FanOutLoop;
  /** `WEBHOOKS_BACKOFF_BASE` in milliseconds. */
  backoffBaseMs: number;
  /** Looks for work. Deliveries that were in flight when the last server stopped are still queued, and are sent now. */
  begin: () => Promise<void>;
  /** Starts nothing more, and waits for what is in flight, at most ten seconds. */
  stop: () => Promise<void>;
};

/**
 * Prepares the delivery of the queue. Until `begin`, it only collects notifications of work. `node` is this server among
 * those of one database, which divide the work; without one, commands wake this server by a file.
 */
export async function prepareDeliveries(
  {
    config,
    dataDir,
    database,
    log,
    node,
    onSignal,
  }: {
    config: Config;
    dataDir: string;
    database: Database;
    log: Log;
    node: Node | undefined;
    /** Called when a command has changed something. */
    onSignal: () => void;
  },
  parts: Pick<WorkerParts, "vault" | "outgoing" | "places" | "hold" | "tracing" | "observeAttempt">,
): Promise<Deliveries> {
  const worker = new Worker({
    database,
    log,
    clock: await QueueClock.start(database),
    ownership: node,
    ...parts,
    rules: {
      maxAttempts: config.webhooksMaxAttempts,
      backoffBaseMs: config.webhooksBackoffBase * 1000,
      disableAfter: config.webhooksDisableAfter,
    },
  });
  const fanOutLoop = new FanOutLoop(database, log, node);
  const wakeAll = async () => {
    fanOutLoop.wake();
    await worker.wakeAll();
  };
  // The worker was stopped meanwhile: the next start looks at everything.
  const soon = (looked: Promise<void>) => void looked.catch(() => {});
  const onCommand = () => {
    soon(wakeAll());
    onSignal();
  };
  const stopWatching = node ? () => {} : watchForWork(dataDir, onCommand);
  return {
    worker,
    fanOutLoop,
    backoffBaseMs: config.webhooksBackoffBase * 1000,
    begin: wakeAll,
    onWork(keys) {
      if (keys.includes(fanOutsKey)) fanOutLoop.wake();
      soon(worker.wake(keys.filter((key) => key !== fanOutsKey)));
    },
    onAnyWork: () => soon(wakeAll()),
    onLook() {
      fanOutLoop.wake();
      soon(worker.look());
    },
    async stop() {
      stopWatching();
      node?.beginLeaving();
      await Promise.all([worker.stop(), fanOutLoop.stop()]);
    },
  };
}
