import { describe, expect, test } from "bun:test";
import { parseDatabaseUrl, shownDatabase } from "../../src/input/database-url.ts";

function parsed(text: string) {
  const url = parseDatabaseUrl(text);
  if ("problem" in url) throw new Error(url.problem);
  return url;
}

function problem(text: string): string {
  const url = parseDatabaseUrl(text);
  if ("problem" in url) return url.problem;
  throw new Error("It has no problem.");
}

test("a URL has a user, a password, a host, a port and a database", () => {
  expect(parsed("postgres://ann:p%40ss%2Fword@db.example:6000/chat")).toMatchObject({
    hosts: [{ host: "db.example", port: 6000 }],
    user: "ann",
    password: "p@ss/word",
    database: "chat",
    needsPrimary: false,
  });
});

test("what a URL leaves out is as in libpq", () => {
  expect(parsed("postgresql://")).toEqual({
    hosts: [{ host: "localhost", port: 5432 }],
    user: undefined,
    password: "",
    database: undefined,
    tls: { mode: "prefer", rootFile: undefined, certificateFile: undefined, keyFile: undefined },
    channelBinding: "prefer",
    needsPrimary: false,
    connectTimeoutSeconds: 5,
    applicationName: "parley",
    options: "",
  });
});

test.each([
  ["postgres://a,b:6000,[::1]:7000/d", "a:5432,b:6000,[::1]:7000/d"],
  ["postgres://a,b/d?port=1,2", "a:1,b:2/d"],
  ["postgres://a,b/d?port=9", "a:9,b:9/d"],
  ["postgres:///d?host=/var/run/postgresql", "/var/run/postgresql:5432/d"],
  ["postgres://%2Fvar%2Frun:7/d", "/var/run:7/d"],
])("%s names %s", (text, shown) => {
  expect(shownDatabase(parsed(text))).toBe(shown);
});

test("of several hosts only one that takes writes will do, unless the URL says otherwise", () => {
  expect(parsed("postgres://a,b/d").needsPrimary).toBe(true);
  expect(parsed("postgres://a,b/d?target_session_attrs=any").needsPrimary).toBe(false);
  expect(parsed("postgres://a/d?target_session_attrs=read-write").needsPrimary).toBe(true);
});

describe("TLS is never weaker than asked", () => {
  test.each([
    ["sslmode=disable", "disable"],
    ["sslmode=allow", "prefer"],
    ["sslmode=require", "require"],
    ["sslmode=require&sslrootcert=/ca.pem", "verify-ca"],
    ["sslmode=verify-ca&sslrootcert=/ca.pem", "verify-ca"],
    ["sslmode=verify-full", "verify-full"],
    ["sslmode=verify-full&sslrootcert=system", "verify-full"],
  ])("%s is %s", (query, mode) => {
    expect(parsed(`postgres://h/d?${query}`).tls.mode).toBe(mode as never);
  });

  test.each([
    ["sslmode=verify", "unknown sslmode"],
    ["sslmode=verify-ca", "without sslrootcert"],
    ["sslmode=require&sslrootcert=system", "sslmode=verify-full"],
    ["sslrootcert=/ca.pem", "without TLS"],
    ["sslmode=prefer&sslcert=/c.pem&sslkey=/k.pem", "without TLS"],
    ["sslmode=require&sslcert=/c.pem", "needs both"],
    ["sslcrl=/crl.pem", "has sslcrl, which Parley does not know"],
    ["ssl=true", "has ssl, which Parley does not know"],
    ["gssencmode=require", "does not know"],
    ["target_session_attrs=standby", "unknown target_session_attrs"],
  ])("%s is refused", (query, reason) => {
    expect(problem(`postgres://h/d?${query}`)).toContain(reason);
  });
});

test.each([
  "mysql://user:hunter2@h/d",
  "postgres:user:hunter2@h/d",
  "postgres://user:hunter2/x@h:5432/d",
  "postgres://user:12/hunter2@h:5432/d",
  "postgres://user:hunter2%@h/d",
  "postgres://user:hunter2@h:port/d",
  "postgres://user:hunter2@h:70000/d",
  "postgres://user:hunter2#x@h/d",
  "postgres://user@h/d?password=hunter2&sslmode=hunter2",
  "postgres://user:12?hunter2=x@h/d",
  "hunter2",
])("what is wrong with %s is said without the password", (text) => {
  expect(problem(text)).not.toContain("hunter2");
});
