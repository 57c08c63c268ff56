import { readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { type ReservedSQL, SQL } from "bun";
import { DomainError } from "../../errors.ts";
import type { DatabaseUrl } from "../../input/database-url.ts";
import { ConnectionTrouble } from "./connection-trouble.ts";

/** The oldest PostgreSQL that Parley's tables and statements are for, as `server_version_num` has it. */
const oldestVersion = 130_000;

/**
 * What every connection is set to. The server ends a statement that runs for 10 s and a wait for a lock of 5 s. A
 * transaction that is idle for 3 s has lost its node, or that hangs: it ends before those who wait for its lock give up,
 * and a node that only took long between two statements makes its change again. The server notices within 20 s that a
 * node has vanished without a word, so that others can take what it owned. A commit is acknowledged once it is on disk,
 * whatever the database's default, and after that where the operator asks for more.
 *
 * A table may have grown from nothing since the server last counted its rows, and plans are kept: without
 * `enable_seqscan = off` some read all of it where an index has the answer.
 */
const settings = `
  SET statement_timeout = 10000;
  SET lock_timeout = 5000;
  SET idle_in_transaction_session_timeout = 3000;
  SET tcp_keepalives_idle = 5;
  SET tcp_keepalives_interval = 5;
  SET tcp_keepalives_count = 3;
  SET tcp_user_timeout = 15000;
  SET default_transaction_isolation = 'read committed';
  SET standard_conforming_strings = on;
  SET bytea_output = hex;
  SET enable_seqscan = off;
  SET jit = off;
  SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
  SELECT current_setting('server_version_num')::integer, getdatabaseencoding(),
    current_setting('transaction_read_only')`;

/**
 * An open connection of the driver, alone in its pool. `reserved` never connects anew. `closed` resolves to the reason
 * when the connection has ended.
 */
export type Dialled = { client: SQL; reserved: ReservedSQL; closed: Promise<unknown> };

/**
 * Connects to the first of the URL's hosts that answers and, where the URL needs it, takes writes. `start` is the index
 * of the host to begin with. Returns the index of the host that was found too.
 * @throws the error of the last host, or that of the one that takes no writes; DomainError `invalid` for a file of the
 *   URL that cannot be read, or for a server that Parley cannot use.
 */
export async function dial(url: DatabaseUrl, start: number): Promise<Dialled & { host: number }> {
  let failure: unknown;
  for (let step = 0; step < url.hosts.length; step++) {
    const host = (start + step) % url.hosts.length;
    try {
      return { ...(await dialHost(url, host)), host };
    } catch (error) {
      if (error instanceof DomainError) throw error;
      if (!(failure instanceof ConnectionTrouble)) failure = error;
    }
  }
  throw failure;
}

/** A client of the driver for one host, which connects when it is used. Nothing is read from the environment. */
export function clientFor(url: DatabaseUrl, host: number, onClose: (error: unknown) => void = () => {}): SQL {
  const { host: hostname = "", port = 5432 } = url.hosts[host] ?? {};
  const isSocket = hostname.startsWith("/");
  const user = url.user ?? userInfo().username;
  // The driver reads the mode from the URL only, where an object has the files.
  return new SQL(`postgres://localhost/?sslmode=${url.tls.mode}`, {
    adapter: "postgres",
    ...(isSocket ? { path: `${hostname}/.s.PGSQL.${port}` } : { hostname, port }),
    username: user,
    // As a function, since the driver takes an empty password from the environment.
    password: () => url.password,
    database: url.database ?? user,
    tls: tlsOf(url),
    channelBinding: url.channelBinding,
    // Without options none are named: PgBouncer refuses even empty ones.
    connection: {
      application_name: url.applicationName,
      ...(url.options !== "" && { options: url.options }),
    },
    max: 1,
    bigint: true,
    idleTimeout: 0,
    maxLifetime: 0,
    connectionTimeout: url.connectTimeoutSeconds,
    prepare: true,
    onclose: onClose,
  });
}

async function dialHost(url: DatabaseUrl, host: number): Promise<Dialled> {
  const closed = Promise.withResolvers<unknown>();
  const client = clientFor(url, host, closed.resolve);
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new ConnectionTrouble("silent", "The database does not answer.")),
    url.connectTimeoutSeconds * 1_000 + 1_000,
  );
  try {
    const reserved = await Promise.race([late.promise, prepare(client, url)]);
    return { client, reserved, closed: closed.promise };
  } catch (error) {
    await client.close({ timeout: 0 });
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

async function prepare(client: SQL, url: DatabaseUrl): Promise<ReservedSQL> {
  const reserved = await client.reserve();
  const results = (await reserved.unsafe(settings).simple().values()) as unknown[][][];
  const [version, encoding, readOnly] = results.at(-1)?.[0] ?? [];
  if (Number(version) < oldestVersion)
    throw new DomainError(
      "invalid",
      `The database's PostgreSQL is older than ${oldestVersion / 10_000}. Upgrade it, then try again.`,
    );
  if (encoding !== "UTF8")
    throw new DomainError(
      "invalid",
      `The database's encoding is ${String(encoding)}. Create it with ENCODING 'UTF8' and try again.`,
    );
  if (url.needsPrimary && readOnly !== "off")
    throw new ConnectionTrouble(
      "read_only",
      "No host of PARLEY_DATABASE_URL takes writes: those that answer are standbys.",
    );
  return reserved;
}

/** The TLS options as the driver takes them: the mode alone where there is no file, since an object asks for TLS. */
function tlsOf({ tls: { mode, rootFile, certificateFile, keyFile } }: DatabaseUrl) {
  if (mode === "disable" || mode === "prefer") return mode;
  const isVerified = mode === "verify-ca" || mode === "verify-full";
  return {
    // Said explicitly, so that NODE_TLS_REJECT_UNAUTHORIZED cannot turn it off.
    rejectUnauthorized: isVerified,
    ...(rootFile !== undefined && { ca: pem("sslrootcert", rootFile) }),
    ...(certificateFile !== undefined && { cert: pem("sslcert", certificateFile) }),
    ...(keyFile !== undefined && { key: pem("sslkey", keyFile) }),
  };
}

// Read at each connection, so that a renewed certificate needs no restart.
function pem(parameter: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new DomainError(
      "invalid",
      `PARLEY_DATABASE_URL names a file in ${parameter} that cannot be read: ${reason}.`,
    );
  }
}
