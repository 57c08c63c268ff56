import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, chownSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openConnections } from "../../../src/database/postgres/connections.ts";
import { explainDatabaseError } from "../../../src/database/postgres/errors.ts";
import { createAuthority } from "../../outbound/certificates.ts";
import { freshDatabase, startPostgres, type TestPostgres } from "../../support/postgres.ts";
import { account } from "../../support/postgres-programs.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

let postgres: TestPostgres;
const [ours, others] = [temporaryFolder(), temporaryFolder()];
const at = (name: string) => join(ours.path, name);

beforeAll(async () => {
  const authority = createAuthority(ours.path);
  createAuthority(others.path);
  const server = authority.issue("DNS:localhost");
  const client = authority.issue("DNS:parley");
  writeFileSync(at("server.pem"), server.cert);
  writeFileSync(at("server.key"), server.key);
  writeFileSync(at("client.pem"), client.cert);
  writeFileSync(at("client.key"), client.key);
  // PostgreSQL reads them as its own account, and only a key that is closed to others.
  chmodSync(ours.path, 0o755);
  chmodSync(at("server.key"), 0o600);
  if (account) chownSync(at("server.key"), account.uid, account.gid);
  writeFileSync(at("hba"), "hostssl all all 127.0.0.1/32 md5\n");
  postgres = await startPostgres({
    settings: {
      ssl: "on",
      ssl_cert_file: at("server.pem"),
      ssl_key_file: at("server.key"),
      ssl_ca_file: at("ca.pem"),
      hba_file: at("hba"),
    },
  });
  // Logins by MD5, which initdb prepared, cannot be bound to the certificate.
  const connections = openConnections(postgres.url("postgres"), { max: 2 });
  const session = await connections.session();
  const password = `ALTER ROLE parley PASSWORD '${postgres.password}'`;
  await session.script(`SET password_encryption = 'scram-sha-256'; ${password}`);
  session.release();
  await connections.close();
});
afterAll(async () => {
  await postgres[Symbol.asyncDispose]();
  for (const folder of [ours, others]) folder[Symbol.dispose]();
});

/** What the server says about the connection, or the message of the error. */
async function connect(host: string, query: string): Promise<unknown> {
  const url = `postgres://parley:${postgres.password}@${host}:${postgres.port}/postgres?${query}`;
  return connectTo(url);
}

async function connectTo(url: string): Promise<unknown> {
  const connections = openConnections(url);
  try {
    const text = "SELECT ssl, client_dn FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    const [[isEncrypted, clientName] = []] = (await connections.query(text)).rows;
    return { isEncrypted: isEncrypted === 1, clientName };
  } catch (error) {
    return (explainDatabaseError(error) as Error).message;
  } finally {
    await connections.close();
  }
}

const encrypted = { isEncrypted: true, clientName: null };
const insecure = expect.stringContaining("not as secure as PARLEY_DATABASE_URL asks");

describe("a server with TLS, whose certificate is for localhost,", () => {
  test.each([
    ["", encrypted],
    ["sslmode=prefer", encrypted],
    ["sslmode=require", encrypted],
    ["sslmode=require&channel_binding=require", encrypted],
    ["sslmode=require&sslrootcert=OURS", encrypted],
    ["sslmode=require&sslrootcert=OTHERS", insecure],
    ["sslmode=verify-ca&sslrootcert=OURS", encrypted],
    ["sslmode=verify-ca&sslrootcert=OTHERS", insecure],
    ["sslmode=verify-full", insecure],
    ["sslmode=verify-full&sslrootcert=OURS", insecure],
    ["sslmode=verify-full&sslrootcert=OTHERS", insecure],
    ["sslmode=disable", expect.stringContaining("refuses the login")],
    ["sslmode=verify-full&sslrootcert=/missing.pem", expect.stringContaining("/missing.pem")],
  ])("at 127.0.0.1 with %s", async (query, expected) => {
    expect(await connect("127.0.0.1", withFiles(query))).toEqual(expected);
  });

  test.each([
    ["sslmode=verify-ca&sslrootcert=OTHERS", insecure],
    ["sslmode=verify-full", insecure],
    ["sslmode=verify-full&sslrootcert=OURS", encrypted],
    ["sslmode=verify-full&sslrootcert=OTHERS", insecure],
  ])("at localhost with %s", async (query, expected) => {
    expect(await connect("localhost", withFiles(query))).toEqual(expected);
  });

  test("sees the client's certificate", async () => {
    const query = `sslmode=verify-full&sslrootcert=OURS&sslcert=${at("client.pem")}&sslkey=${at("client.key")}`;
    expect(await connect("localhost", withFiles(query))).toEqual({
      isEncrypted: true,
      clientName: "/CN=receiver.test",
    });
  });

  test("is not reached by a setting of the environment that turns verification off", async () => {
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
    process.env.PGSSLMODE = "disable";
    try {
      for (const mode of ["verify-ca", "verify-full"])
        expect(await connect("localhost", withFiles(`sslmode=${mode}&sslrootcert=OTHERS`))).toEqual(insecure);
    } finally {
      delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      delete process.env.PGSSLMODE;
    }
  });
});

describe("a server without TLS", () => {
  test.each([
    ["", { isEncrypted: false, clientName: null }],
    ["sslmode=disable", { isEncrypted: false, clientName: null }],
    ["sslmode=prefer", { isEncrypted: false, clientName: null }],
    ["sslmode=require", insecure],
    ["sslmode=verify-ca&sslrootcert=OURS", insecure],
    ["sslmode=verify-full", insecure],
  ])("with %s", async (query, expected) => {
    await using database = await freshDatabase();
    expect(await connectTo(`${database.url}?${withFiles(query)}`)).toEqual(expected);
  });
});

function withFiles(query: string): string {
  return query.replace("OURS", at("ca.pem")).replace("OTHERS", join(others.path, "ca.pem"));
}
