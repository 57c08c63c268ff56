import type { Connections } from "../database/postgres/connections.ts";
import { causeOf, remedyOf } from "../database/postgres/errors.ts";
import { postgresMigrations } from "../database/postgres/migrations.ts";
import { connectionsMax } from "../database/postgres/open.ts";
import type { ServerState, Standby } from "../database/postgres/server-state.ts";
import { DomainError } from "../errors.ts";
import { type DatabaseUrl, shownDatabase } from "../input/database-url.ts";
import type { NodeRow } from "../nodes/store.ts";
import { version } from "../version.ts";
import { judgeMigrations } from "./database.ts";
import { type Finding, failed, ok, reasonOf, skipped, warning } from "./finding.ts";

type Query = Pick<Connections, "query">;

/** How often the round trip is measured. */
const trips = 5;
/** Each request waits for a round trip at least, so slower ones are felt, in milliseconds. */
const slowTripMs = 10;
/** Retries are due by the clock of the database and the signatures' times are those of the node, in milliseconds. */
const clockDifferenceMaxMs = 5_000;
/** A connection that listens and the session of the node, besides those for statements; and some for commands. */
const connectionsBesides = 2;
const connectionsForCommands = 10;
/** A standby that is further behind will take long to catch up when it is needed. */
const lagMaxMs = 30_000;
const lagMaxBytes = 64_000_000;
/** A node says every two seconds that it is there, in milliseconds. */
const quietMs = 10_000;

/** Checks that the database answers, and how fast, and compares its clock with this machine's. */
export async function checkAnswer({ query }: Query, url: DatabaseUrl): Promise<Finding[]> {
  const check = "database";
  const times: number[] = [];
  let difference = 0;
  try {
    await query("SELECT 1");
    while (times.length < trips) {
      const before = Date.now();
      const startedAt = performance.now();
      const { rows } = await query("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint");
      const tookMs = performance.now() - startedAt;
      times.push(tookMs);
      // What the way may have taken is no difference.
      const apart = Number(rows[0]?.[0]) - (before + tookMs / 2);
      difference = Math.sign(apart) * Math.max(0, Math.abs(apart) - tookMs / 2);
    }
  } catch (error) {
    if (error instanceof DomainError) return [failed(check, error.message)];
    return [failed(check, `${causeOf(error) ?? reasonOf(error)}.`, remedyOf(error))];
  }
  const typical = times.toSorted((a, b) => a - b)[Math.floor(trips / 2)] ?? 0;
  const found = `${shownDatabase(url)} answers within ${Math.max(typical, 0.1).toFixed(1)} ms`;
  const slow = "Run the servers next to the database: each request waits for it at least once.";
  return [
    typical > slowTripMs ? warning(check, `${found}, which is slow.`, slow) : ok(check, found),
    Math.abs(difference) > clockDifferenceMaxMs
      ? warning(
          "database clock",
          `It is ${Math.round(Math.abs(difference) / 1_000)} s ${difference > 0 ? "ahead of" : "behind"} this machine's.`,
          "Keep the clocks of all machines right with a time service such as systemd-timesyncd or chrony.",
        )
      : ok("database clock", "as this machine's"),
  ];
}

/** Compares the migrations of the database with those of this binary, and applies none. */
export async function checkPostgresMigrations({ query }: Query): Promise<Finding[]> {
  const { rows: found } = await query("SELECT to_regclass('migrations') IS NOT NULL");
  if (found[0]?.[0] !== 1) {
    return [
      failed(
        "migrations",
        "There is no workspace in the database.",
        "Create one with parley init --team NAME --owner NAME, or correct PARLEY_DATABASE_URL.",
      ),
    ];
  }
  const { rows } = await query("SELECT name FROM migrations ORDER BY name");
  return judgeMigrations(
    rows.map(([name]) => String(name)),
    postgresMigrations.map(({ name }) => name),
  );
}

/** Checks the settings of the server that decide whether what was acknowledged survives a crash. */
export async function checkDurability({ query }: Query): Promise<Finding[]> {
  const check = "durability";
  const names = ["fsync", "full_page_writes", "synchronous_commit", "synchronous_standby_names"];
  const { rows } = await query("SELECT current_setting(name) FROM unnest($1::text[]) AS name", [names]);
  const [fsync, fullPages, commit, standbys] = rows.map(([value]) => String(value));
  const findings: Finding[] = [];
  const off = [fsync === "off" ? "fsync" : "", fullPages === "off" ? "full_page_writes" : ""].filter(Boolean);
  if (off.length > 0) {
    findings.push(
      failed(
        check,
        `${off.join(" and ")} ${off.length === 1 ? "is" : "are"} off: a crash of the database's machine can destroy the data.`,
        "Turn it on in postgresql.conf, and restart PostgreSQL.",
      ),
    );
  }
  if (commit === "local" && standbys !== "") {
    findings.push(
      warning(
        check,
        "synchronous_commit is local: commits do not wait for the standbys of synchronous_standby_names, so what was " +
          "acknowledged can be lost with the primary.",
        "Set synchronous_commit to on.",
      ),
    );
  }
  if (findings.length > 0) return findings;
  const where =
    standbys === "" ? "on the primary's disk" : "on the disks of the primary and of synchronous standbys";
  return [ok(check, `what is acknowledged is ${commit === "local" ? "on the primary's disk" : where}`)];
}

/** Checks that the server takes writes. */
export async function checkRole({ query }: Query, { version: found, role }: ServerState): Promise<Finding[]> {
  const check = "PostgreSQL";
  if (role === "standby") {
    return [
      failed(
        check,
        `${found}, a standby: it takes no writes.`,
        "Name the primary in PARLEY_DATABASE_URL, or all of them with target_session_attrs=read-write; or promote this one.",
      ),
    ];
  }
  const { rows } = await query("SELECT current_setting('transaction_read_only')");
  if (rows[0]?.[0] === "on") {
    return [
      failed(
        check,
        `${found}, which is read-only (default_transaction_read_only).`,
        "Turn that setting off for the server, the database and the user.",
      ),
    ];
  }
  return [ok(check, `${found}, a primary`)];
}

/** Judges whether the server has connections enough for those nodes and one more, which a restart may need. */
export function judgeConnections({ used, max }: ServerState["connections"], nodes: number): Finding[] {
  const check = "connections";
  const needed = (nodes + 1) * (connectionsMax + connectionsBesides) + connectionsForCommands;
  const found = `${used} of ${max} in use`;
  const remedy = "Raise max_connections in postgresql.conf, and restart PostgreSQL.";
  if (max < needed) {
    const all = nodes === 0 ? "a server" : `${nodes} servers, one more`;
    return [warning(check, `${found}; ${all} and commands may need ${needed}.`, remedy)];
  }
  if (used > max * 0.9) return [warning(check, `${found}.`, remedy)];
  return [ok(check, found)];
}

/** Checks that standbys keep up, and that there is one where commits wait for it. */
export async function checkStandbys({ query }: Query, standbys: readonly Standby[]): Promise<Finding[]> {
  const check = "standbys";
  const { rows } = await query("SELECT current_setting('synchronous_standby_names')");
  const asked = String(rows[0]?.[0]);
  const findings: Finding[] = [];
  const isHidden = standbys.some(({ state }) => state === null);
  if (isHidden) {
    return [
      skipped(
        check,
        `${standbys.length}, whose state this login may not see; the superuser can allow it with GRANT pg_monitor TO …`,
      ),
    ];
  }
  if (
    asked !== "" &&
    !standbys.some(({ sync_state }) => sync_state !== null && /^(sync|quorum)$/.test(sync_state))
  ) {
    findings.push(
      failed(
        check,
        `Every change waits for a synchronous standby (${asked}), and there is none.`,
        "Start the standby, or take its name out of synchronous_standby_names and reload PostgreSQL.",
      ),
    );
  }
  for (const { name, state, lag_bytes, lag_ms } of standbys) {
    if (state !== "streaming") findings.push(warning(check, `${name} is in state ${state}.`, "See its log."));
    else if ((lag_bytes ?? 0) > lagMaxBytes || (lag_ms ?? 0) > lagMaxMs) {
      const behind = `${Math.round((lag_bytes ?? 0) / 1_000_000)} MB and ${Math.round((lag_ms ?? 0) / 1_000)} s`;
      findings.push(
        warning(check, `${name} is ${behind} behind.`, "Look at its disk, and at queries that run there."),
      );
    }
  }
  if (findings.length > 0) return findings;
  if (standbys.length === 0) return [ok(check, "none: the data is on one machine")];
  return [ok(check, standbys.map(({ name, sync_state }) => `${name} (${sync_state}) keeps up`).join(", "))];
}

/** Checks that nobody between this machine and another one can pose as the database. */
export function checkTls({ hosts, tls }: DatabaseUrl): Finding[] {
  const check = "TLS";
  const others = hosts.filter(({ host }) => !/^(\/|localhost$|127\.|::1$)/.test(host));
  if (others.length === 0) return [ok(check, "the database is on this machine")];
  if (tls.mode === "verify-full") return [ok(check, "sslmode=verify-full")];
  const risk =
    tls.mode === "disable" || tls.mode === "prefer"
      ? "whoever is on the way may read and change everything"
      : "whoever is on the way may pose as the database";
  return [
    warning(
      check,
      `sslmode=${tls.mode} on the way to ${others.map(({ host }) => host).join(", ")}: ${risk}.`,
      "Add ?sslmode=verify-full&sslrootcert=FILE to PARLEY_DATABASE_URL, with the authority of its certificate.",
    ),
  ];
}

/** Judges whether the servers that are alive are of one version and say that they are there. */
export function judgeNodes(nodes: readonly NodeRow[]): Finding[] {
  const check = "nodes";
  const named = (those: readonly NodeRow[]) =>
    those.map(({ hostName, url }) => `${hostName} (${url})`).join(", ");
  const findings: Finding[] = [];
  const others = nodes.filter((node) => node.version !== version);
  if (others.length > 0) {
    findings.push(
      warning(check, `Not parley ${version}: ${named(others)}.`, "Finish the upgrade on all machines."),
    );
  }
  const quiet = nodes.filter(({ silentMs }) => silentMs > quietMs);
  if (quiet.length > 0) {
    findings.push(
      warning(check, `Silent for longer than ${quietMs / 1_000} s: ${named(quiet)}.`, "Look at their logs."),
    );
  }
  if (nodes.length > 0 && !nodes.some(({ delivers }) => delivers)) {
    findings.push(
      warning(check, "None delivers webhooks.", "Set INTEGRATIONS_ENABLED=true on one at least."),
    );
  }
  if (findings.length > 0) return findings;
  return [ok(check, nodes.length === 0 ? "none runs" : named(nodes))];
}
