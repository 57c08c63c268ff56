import { Database as SqliteFile } from "bun:sqlite";
import { expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { lookAt } from "../../src/database/look.ts";
import { checkIntegrity } from "../../src/doctor/database.ts";
import type { Finding } from "../../src/doctor/finding.ts";
import { findKey } from "../../src/secrets/key-file.ts";
import { hashOf } from "../../src/secrets/secret-text.ts";
import { Vault } from "../../src/secrets/vault.ts";
import { createSubscription } from "../../src/subscriptions/subscriptions.ts";
import { run } from "../support/cli.ts";
import { startServer } from "../support/server.ts";
import { type TemporaryFolder, temporaryFolder } from "../support/temporary-folder.ts";
import { actor, openWorkspace } from "../support/workspace.ts";

/**
 * A stopped workspace with a subscription, whose event waits. It is a copy, since SQLite closes the files of the one
 * that is made here, and removes its WAL, only when this process drops the last statement.
 */
async function workspaceFolder(): Promise<TemporaryFolder> {
  using made = temporaryFolder();
  const workspace = await openWorkspace(made.path);
  const acme = await workspace.team("Acme");
  const vault = new Vault(findKey(made.path, ""));
  await createSubscription(
    {
      database: workspace.database,
      guard: { blockPrivate: false },
      vault,
      log: { warn: () => {} },
      maxSubscriptions: 10,
    },
    acme.id,
    { name: "CI", url: "http://127.0.0.1:9/", events: ["message.created"] },
    actor,
  );
  await workspace.message(acme.general, acme.owner);
  await workspace[Symbol.asyncDispose]();
  change(made.path, "PRAGMA optimize");
  const folder = temporaryFolder();
  for (const name of ["parley.db", "secret.key"])
    copyFileSync(join(made.path, name), join(folder.path, name));
  return folder;
}

type Examined = { status: number; findings: Record<string, Finding>; texts: string };

/** The findings by the names of their checks. Unless a test says otherwise, any port will do for a server. */
async function examine(
  dataDir: string,
  environment: Record<string, string> = {},
  ...args: string[]
): Promise<Examined> {
  const { status, stdout, stderr } = await run(dataDir, ["doctor", "--json", ...args], {
    PARLEY_PORT: "0",
    ...environment,
  });
  expect(stderr).toBe("");
  const { data } = JSON.parse(stdout) as { data: Finding[] };
  const findings = Object.fromEntries(data.map((finding) => [finding.check, finding]));
  return { status, findings, texts: stdout };
}

/** The content of every file of the folder. */
function contents(folder: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(folder).map((name) => [name, hashOf(readFileSync(join(folder, name), "latin1"))]),
  );
}

/** Changes the stopped workspace, so that its WAL is empty. */
function change(dataDir: string, sql: string): void {
  const file = new SqliteFile(join(dataDir, "parley.db"));
  file.run(sql);
  file.run("PRAGMA wal_checkpoint(TRUNCATE)");
  file.close(true);
}

test("doctor finds nothing wrong with a healthy workspace, and leaves every file as it was", async () => {
  using folder = await workspaceFolder();
  const before = contents(folder.path);
  const { status, findings } = await examine(folder.path, {}, "--full");
  expect(contents(folder.path)).toEqual(before);
  expect(status).toBe(0);
  for (const check of [
    "settings",
    "permissions",
    "flush",
    "SQLite",
    "migrations",
    "integrity",
    "key",
    "clock",
  ]) {
    expect(["ok", "warning"], check).toContain(findings[check]?.state ?? "missing");
  }
  expect(findings.integrity?.state).toBe("ok");
  expect(findings.key?.found).toContain("opens every signing secret");
  expect(findings.server?.found).toContain("none runs");
  const { stdout, stderr } = await run(folder.path, ["doctor"], { PARLEY_PORT: "0" });
  expect(stdout).toMatch(/^ok +integrity +what every request reads is sound/m);
  expect(stdout + stderr).not.toContain("\u001b");
});

test("what a server writes while doctor reads a stopped workspace is no damage", async () => {
  using folder = await workspaceFolder();
  const path = join(folder.path, "parley.db");
  change(folder.path, "CREATE TABLE notes (text text); CREATE INDEX notes_by_text ON notes (text)");
  using look = lookAt(path);
  // SQLite keeps the pages that it has read.
  look.file.query("SELECT count(text) FROM notes INDEXED BY notes_by_text").get();
  const notes = Array.from({ length: 1_000 }, (_, number) => `('note ${number}')`);
  change(folder.path, `INSERT INTO notes VALUES ${notes.join()}`);
  const patient = { dataDir: folder.path, environment: {}, config: undefined };
  expect(checkIntegrity(patient, look, true)).toMatchObject([{ check: "integrity", state: "ok" }]);
  expect(readdirSync(folder.path).toSorted()).toEqual(["parley.db", "secret.key"]);

  using inUse = new SqliteFile(path, { strict: true });
  inUse.run("PRAGMA wal_checkpoint(TRUNCATE)");
  using lookInUse = lookAt(path);
  inUse.run("INSERT INTO notes VALUES ('the latest')");
  expect(lookInUse.file.query("SELECT count(*) FROM notes").values()).toEqual([[1_001]]);
});

test("doctor asks a running server, here and at its public address", async () => {
  using folder = await workspaceFolder();
  await using server = await startServer({
    dataDir: folder.path,
    environment: { INTEGRATIONS_ENABLED: "false" },
  });
  const direct = await examine(folder.path, { PARLEY_BASE_URL: server.url });
  expect(direct.findings.server).toMatchObject({ state: "ok", found: `answers at ${server.url}` });
  expect(direct.findings["base URL"]).toMatchObject({ state: "ok" });
  expect(direct.findings.integrity).toMatchObject({ state: "ok" });
  expect(direct.status).toBe(0);

  using other = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("It works!") });
  const wrong = await examine(folder.path, { PARLEY_BASE_URL: `http://127.0.0.1:${other.port}` });
  expect(wrong.findings["base URL"]).toMatchObject({
    state: "failed",
    found: expect.stringContaining("Something else answers"),
  });
  expect(wrong.status).toBe(1);

  const key = join(folder.path, "tls.key");
  const cert = join(folder.path, "tls.pem");
  const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"];
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30"];
  execFileSync("openssl", ["req", "-x509", ...kind, "-keyout", key, "-out", cert, ...names], {
    stdio: "pipe",
  });
  using proxy = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    tls: { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") },
    fetch: async (request) => await fetch(server.url + new URL(request.url).pathname),
  });
  const selfSigned = await examine(folder.path, { PARLEY_BASE_URL: `https://127.0.0.1:${proxy.port}` });
  expect(selfSigned.findings["base URL"]).toMatchObject({
    state: "warning",
    found: expect.stringContaining("a self-signed certificate"),
  });
  expect(selfSigned.status).toBe(0);
});

test("a port that is taken, a clock that runs behind and a setting that does not parse are found", async () => {
  using folder = await workspaceFolder();
  using other = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  change(folder.path, `UPDATE events SET created_at = ${Date.now() + 3_600_000}`);
  const { status, findings } = await examine(folder.path, { PARLEY_PORT: String(other.port) });
  expect(status).toBe(1);
  expect(findings.server).toMatchObject({ state: "failed", found: expect.stringContaining("is taken") });
  expect(findings.clock).toMatchObject({ state: "warning", found: expect.stringContaining("runs behind") });
  const misspelt = await examine(folder.path, { WEBHOOKS_TIMEOUTS: "3" });
  expect(misspelt.findings.settings).toMatchObject({
    state: "warning",
    found: expect.stringContaining("Did you mean WEBHOOKS_TIMEOUT?"),
  });
  const invalid = await examine(folder.path, { WEBHOOKS_TIMEOUT: "soon" });
  expect(invalid.status).toBe(1);
  expect(invalid.findings.settings?.found).toContain('WEBHOOKS_TIMEOUT is "soon"');
  expect(invalid.findings.integrity?.state).toBe("ok");
});

test("networks that are open to deliveries are shown", async () => {
  using folder = await workspaceFolder();
  const { findings } = await examine(folder.path, { WEBHOOKS_ALLOW_ADDRESSES: "10.1.0.0/16,::1" });
  expect(findings.settings?.state).toBe("ok");
  expect(findings["allowed addresses"]).toMatchObject({
    state: "ok",
    found: expect.stringContaining("10.1.0.0/16, ::1/128"),
  });
});

test("what is allowed but unsafe is a warning, and doctor still ends well", async () => {
  using folder = await workspaceFolder();
  chmodSync(join(folder.path, "secret.key"), 0o604);
  const { status, findings } = await examine(folder.path, {
    SCIM_TOKEN: "short",
    WEBHOOKS_BLOCK_PRIVATE_URLS: "false",
  });
  expect(status).toBe(0);
  expect(findings["SCIM token"]?.state).toBe("warning");
  expect(findings["private addresses"]?.state).toBe("warning");
  expect(findings.permissions).toMatchObject({
    state: "warning",
    found: expect.stringContaining("chmod o="),
  });
  const wrongKey = await examine(folder.path, { PARLEY_SECRET_KEY: randomBytes(32).toString("base64") });
  expect(wrongKey.status).toBe(1);
  expect(wrongKey.findings.key).toMatchObject({
    state: "failed",
    found: expect.stringContaining("1 subscription"),
  });
  expect(wrongKey.texts).not.toContain("short");
});

test("doctor applies no migration, and tells of those to come and of unknown ones", async () => {
  using folder = await workspaceFolder();
  change(folder.path, "DELETE FROM migrations WHERE name = '0010_signed_addresses'");
  const before = contents(folder.path);
  const pending = await examine(folder.path);
  expect(contents(folder.path)).toEqual(before);
  expect(pending.findings.migrations).toMatchObject({
    state: "warning",
    found: expect.stringContaining("0010"),
  });
  expect(pending.status).toBe(0);
  change(folder.path, "INSERT INTO migrations VALUES ('9999_future', 1)");
  const newer = await examine(folder.path);
  expect(newer.findings.migrations).toMatchObject({
    state: "failed",
    found: expect.stringContaining("9999_future"),
  });
  expect(newer.status).toBe(1);
});

test("damage is found, and the other checks are made all the same", async () => {
  using folder = await workspaceFolder();
  const path = join(folder.path, "parley.db");
  const whole = readFileSync(path);
  const damaged = Buffer.from(whole);
  randomBytes(damaged.length - 4_096 * 2).copy(damaged, 4_096 * 2);
  for (const bytes of [damaged, whole.subarray(0, 5_000), Buffer.from("no database"), Buffer.alloc(0)]) {
    rmSync(`${path}-wal`, { force: true });
    rmSync(`${path}-shm`, { force: true });
    writeFileSync(path, bytes);
    const { status, findings } = await examine(folder.path, {}, "--full");
    expect(status).toBe(1);
    expect([findings.integrity?.state, findings.database?.state]).toContain("failed");
    for (const check of ["permissions", "flush", "key", "clock", "server"])
      expect(findings).toHaveProperty(check);
    expect(readFileSync(path).equals(bytes)).toBe(true);
  }
});

test("a folder without a workspace, without its key, or with a link in it is a finding and no crash", async () => {
  using folder = await workspaceFolder();
  const missing = await examine(join(folder.path, "nowhere"));
  expect(missing.status).toBe(1);
  expect(missing.findings["data folder"]).toMatchObject({
    state: "failed",
    remedy: expect.stringContaining("parley init"),
  });
  const key = join(folder.path, "secret.key");
  copyFileSync(key, join(folder.path, "kept.key"));
  rmSync(key);
  expect((await examine(folder.path)).findings.key).toMatchObject({
    state: "failed",
    remedy: expect.stringContaining("Restore secret.key"),
  });
  symlinkSync("kept.key", key);
  expect((await examine(folder.path)).findings.key?.found).toContain("symbolic link");
  using empty = temporaryFolder();
  expect((await examine(empty.path)).findings.database).toMatchObject({
    state: "failed",
    found: expect.stringContaining("There is no workspace"),
  });
  expect(readdirSync(empty.path)).toEqual([]);
});
