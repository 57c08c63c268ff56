import { Database } from "bun:sqlite";
import { join } from "node:path";
import { signalWork } from "../src/outbox/signal.ts";
import type { Figures, Scale } from "./benchmark.ts";
import { type Child, startChild } from "./child.ts";
import { createAuthority } from "../test/outbound/certificates.ts";
import { startParley } from "./parley.ts";
import { addJobs, countRows, fillJobs } from "./tables.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import type { Seeded } from "./workspace.ts";

/** A receiver in a process of its own; its first line is its address. */
export type Receiver = Child & {
  /** Over https: the file with the certificate of the authority that signed its own. */
  authority?: string;
};

/** Starts a plain HTTP receiver; `atHosts` needs one that listens on every address. */
export async function startReceiver(hostname: "127.0.0.1" | "0.0.0.0" = "127.0.0.1"): Promise<Receiver> {
  return await startChild(["bun", join(import.meta.dir, "receiver.ts"), hostname]);
}

/** Returns `count` addresses of the receiver, each with a host of its own; the first is that of its first line. */
export function atHosts({ firstLine }: Pick<Receiver, "firstLine">, count: number): string[] {
  return Array.from({ length: count }, (_, nth) =>
    firstLine.replace("127.0.0.1", `127.0.${Math.floor(nth / 254)}.${(nth % 254) + 1}`),
  );
}

/** Starts an https receiver on every address, with a certificate for the first five of `atHosts`. */
export async function startEncryptedReceiver(): Promise<Receiver> {
  const folder = temporaryFolder();
  const authority = createAuthority(folder);
  const pair = authority.issue([1, 2, 3, 4, 5].map((last) => `IP:127.0.0.${last}`).join(","));
  const files = {
    authority: join(folder, "authority.pem"),
    key: join(folder, "key.pem"),
    cert: join(folder, "cert.pem"),
  };
  await Promise.all([
    Bun.write(files.authority, authority.ca),
    Bun.write(files.key, pair.key),
    Bun.write(files.cert, pair.cert),
  ]);
  const child = await startChild([
    "bun",
    join(import.meta.dir, "receiver.ts"),
    "0.0.0.0",
    files.key,
    files.cert,
  ]);
  return { ...child, authority: files.authority };
}

/** A queue of due jobs and their receiver. */
export type Backlog = {
  workspace: Seeded;
  receiver: Receiver;
  subscriptionIds: string[];
  size: number;
  /** Adds a job for each delivery, so that the backlog keeps its size. */
  isKeptFull?: boolean;
};

/** More than the server can deliver. */
const jobsPerSecondMax = 40_000;

/** Returns how many jobs keep a queue full until the end of a run. */
export function jobsOfFullQueue({ seconds }: Scale): number {
  return jobsPerSecondMax * (seconds + 1);
}

/** How long the server delivers before the measurement begins, as a share of the run. */
const warmUpShare = 0.2;

/** How often a backlog is refilled, in milliseconds. */
const fillUpMs = 20;

/**
 * One run: a server that has just started delivers from the backlog. Returns the attempts settled and logged per
 * second.
 * @throws when nothing was delivered, or when the log and the receiver disagree about the number of deliveries.
 */
export async function deliver(backlog: Backlog, { seconds, isJudged }: Scale): Promise<Figures> {
  const { workspace, receiver, subscriptionIds, size } = backlog;
  const { file } = workspace;
  fillJobs(workspace, subscriptionIds, size - countRows(file, "jobs"));
  const [attemptsBefore, acceptedBefore] = [countRows(file, "attempts"), await acceptedBy(receiver)];

  const parley = await startParley(workspace.dataDir, trusting(receiver));
  const stopFilling = backlog.isKeptFull ? keepFull(backlog) : () => {};
  await Bun.sleep(seconds * warmUpShare * 1000);
  const startedAt = performance.now();
  const settledBefore = countRows(file, "attempts");
  await Bun.sleep(seconds * 1000);
  const settled = countRows(file, "attempts") - settledBefore;
  const elapsedMs = performance.now() - startedAt;
  const { rssMb } = parley.footprint();
  const left = countRows(file, "jobs");
  stopFilling();
  await parley.stop();

  const logged = countRows(file, "attempts") - attemptsBefore;
  const accepted = (await acceptedBy(receiver)) - acceptedBefore;
  if (logged !== accepted) throw new Error(`${accepted} deliveries arrived, and ${logged} are in the log`);
  if (logged === 0) throw new Error("nothing was delivered");
  if (isJudged && left === 0) throw new Error("the queue ran empty before the run was over");
  return { perSecond: (settled / elapsedMs) * 1000, ...(rssMb !== undefined && { rssMb }) };
}

/** Refills the backlog until the returned function is called. */
function keepFull({ workspace, subscriptionIds }: Backlog): () => void {
  const database = new Database(workspace.file);
  database.run("PRAGMA busy_timeout = 5000");
  const newest = database.query<{ seq: number }, []>("SELECT coalesce(max(seq), 0) AS seq FROM attempts");
  let seen = newest.get()?.seq ?? 0;
  const timer = setInterval(() => {
    const { seq } = newest.get() ?? { seq: seen };
    if (seq === seen) return;
    addJobs(database, workspace, subscriptionIds, seq - seen);
    seen = seq;
    signalWork(workspace.dataDir);
  }, fillUpMs);
  return () => {
    clearInterval(timer);
    database.close();
  };
}

/** The environment in which a program trusts the receiver's certificate. */
export function trusting({ authority }: Receiver): Record<string, string> {
  return authority === undefined ? {} : { NODE_EXTRA_CA_CERTS: authority };
}

export async function acceptedBy({ firstLine, authority }: Receiver): Promise<number> {
  const answer = await fetch(firstLine, authority === undefined ? {} : { tls: { ca: Bun.file(authority) } });
  return (await answer.json()) as number;
}
