import type { SQL } from "bun";
import type { DatabaseUrl } from "../../input/database-url.ts";
import { clientFor } from "./dial.ts";

/** How often it is tried whether notifications arrive, in milliseconds. */
const trialMs = 5_000;

/** How many trials in a row may be missed before the connection is made anew. */
const missesMax = 2;

/** A channel that is listened on. */
export type Listening = { close: () => void };

/**
 * Listens on a channel; see `Connections.listen`. A lost connection listens again at once, which the driver does. One
 * that is lost without a word, or whose server has become a standby, is noticed by notifications of its own, which have
 * to arrive, and is made anew to the host that the queries go to.
 */
export function listenOn(
  url: DatabaseUrl,
  channel: string,
  {
    onPayload,
    onListening,
    query,
    host,
  }: {
    onPayload: (payload: string) => void;
    onListening: () => void;
    query: (text: string, parameters: readonly unknown[]) => Promise<unknown>;
    host: () => number;
  },
): Listening {
  const ownChannel = `parley_trial_${Bun.randomUUIDv7("hex")}`;
  let client: SQL | undefined;
  let misses = 0;
  let isClosed = false;

  const connect = () => {
    misses = 0;
    void client?.close({ timeout: 0 }).catch(() => {});
    const current = clientFor(url, host(), undefined);
    client = current;
    // The first attempt fails where the server does; later ones are the driver's.
    const begin = async () => {
      await current.listen(ownChannel, () => (misses = 0));
      await current.listen(channel, onPayload, onListening);
    };
    begin().catch(() => {
      if (current === client) setTimeout(() => !isClosed && current === client && connect(), 500).unref();
    });
  };

  const trial = () => {
    if (misses++ >= missesMax) connect();
    query("SELECT pg_notify($1, '')", [ownChannel]).catch(() => {});
  };

  connect();
  const timer = setInterval(trial, trialMs);
  timer.unref();
  return {
    close() {
      isClosed = true;
      clearInterval(timer);
      void client?.close({ timeout: 0 }).catch(() => {});
    },
  };
}
