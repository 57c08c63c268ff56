import type { SQL } from "bun";
import type { DatabaseUrl } from "../../input/database-url.ts";
import { clientFor } from "./dial.ts";

/** After how many ticks, which are seconds, it is tried again whether notifications arrive. */
const trialTicks = 5;

/** How many trials in a row may be missed before the connection is made anew; connecting may take as many. */
const missesMax = 3;

/** A channel that is listened on. */
export type Listening = { close: () => void };

/** The pause before the connection is made anew, in milliseconds; it doubles with each failure. */
const pauseMs = 50;
const pauseMsMax = 1_000;

/**
 * Listens on a channel; see `Connections.listen`. A connection that is lost is made anew, to the host that the queries
 * go to. One that is lost without a word, or whose server has become a standby, is noticed by notifications of its own,
 * which have to arrive.
 */
export function listenOn(
  url: DatabaseUrl,
  channel: string,
  {
    onPayload,
    onListening,
    query,
    host,
    tickMs,
  }: {
    onPayload: (payload: string) => void;
    onListening: () => void;
    query: (text: string, parameters: readonly unknown[]) => Promise<unknown>;
    host: () => number;
    tickMs: number;
  },
): Listening {
  const ownChannel = `parley_trial_${Bun.randomUUIDv7("hex")}`;
  let client: SQL | undefined;
  let pause: Timer | undefined;
  let misses = 0;
  let failures = 0;

  const connect = () => {
    misses = 0;
    const current = clientFor(url, host(), () => lost(current));
    client = current;
    const begin = async () => {
      await current.listen(ownChannel, () => {
        misses = 0;
        failures = 0;
      });
      await current.listen(channel, onPayload, onListening);
    };
    begin().catch(() => lost(current));
  };

  // The driver would connect anew itself, but always to the same host, and says on the console that it fails.
  const lost = (former: SQL) => {
    if (former !== client) return;
    client = undefined;
    void former.close({ timeout: 0 }).catch(() => {});
    pause = setTimeout(connect, Math.min(pauseMs * 2 ** failures++, pauseMsMax));
  };

  const trial = () => {
    if (client && misses++ >= missesMax) lost(client);
    query("SELECT pg_notify($1, '')", [ownChannel]).catch(() => {});
  };

  connect();
  const timer = setInterval(trial, trialTicks * tickMs);
  timer.unref();
  return {
    close() {
      clearInterval(timer);
      clearTimeout(pause);
      const former = client;
      client = undefined;
      void former?.close({ timeout: 0 }).catch(() => {});
    },
  };
}
