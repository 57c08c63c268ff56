import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../support/cli.ts";
import { until } from "../support/conditions.ts";
import { labelledBlocks } from "../support/documents.ts";
import { lastingPort } from "../support/lasting-port.ts";
import { type NodesStage, startNodes } from "../support/nodes.ts";
import { startPostgres } from "../support/postgres.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const folder = temporaryFolder();
const file = (name: string) => join(folder.path, name);
const blocks = labelledBlocks("docs/scaling.md");
const text = (language: string) => blocks.find((block) => block.language === language)?.code ?? "";
const certificate = { key: file("key.pem"), cert: file("cert.pem") };
const host = "parley.example.com";

beforeAll(() => {
  const { success, stderr } = Bun.spawnSync(
    ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"].concat(
      ["-keyout", certificate.key, "-out", certificate.cert, "-subj", `/CN=${host}`],
      ["-addext", `subjectAltName=DNS:${host}`],
    ),
  );
  expect(success, stderr.toString()).toBe(true);
}, 60_000);
afterAll(() => folder[Symbol.dispose]());

// Where a proxy is not installed there is nothing to try; ./test.sh installs both.
const testWith = (program: string) => (Bun.which(program) === null ? () => {} : test);

testWith("nginx")(
  "three nodes behind nginx as on the page share the requests, and one that is killed is not missed",
  () => tryNodesBehind(nginx),
  120_000,
);

testWith("caddy")(
  "three nodes behind Caddy as on the page share the requests, and one that is killed is not missed",
  () => tryNodesBehind(caddy),
  120_000,
);

test("the page's statements make a database for Parley, and a standby that commits wait for", async () => {
  await using primary = await startPostgres({ withStandby: true });
  const statements = (label: string) =>
    (blocks.find((block) => block.language === "sql" && block.label === label)?.code ?? "")
      .split(";\n")
      .map((statement) => statement.replaceAll("parley", "chat"))
      .filter((statement) => statement.trim() !== "");
  for (const statement of statements("database")) await primary.query(statement);
  const url = `postgres://chat:PASSWORD@127.0.0.1:${primary.port}/chat`;
  const { status, stderr } = await run(file("data"), ["init", "--team", "Acme", "--owner", "Ana"], {
    PARLEY_DATABASE_URL: url,
  });
  expect({ status, stderr }).toMatchObject({ status: 0 });
  for (const statement of statements("role")) await primary.query(statement);
  await using _ = await startPostgres({ standbyOf: primary, settings: { cluster_name: "db2" } });
  for (const statement of statements("standby")) await primary.query(statement);
  await until("commits wait for the standby", async () => {
    const [row] = await primary.query<{ sync_state: string }>(statements("standby").at(-1) ?? "");
    return row?.sync_state === "quorum";
  });
}, 60_000);

async function tryNodesBehind(commandOf: typeof nginx): Promise<void> {
  const settings = Bun.TOML.parse(text("toml")) as Record<string, string>;
  await using stage = await startNodes(3, {
    PARLEY_BASE_URL: settings.base_url ?? "",
    PARLEY_TRUSTED_PROXIES: settings.trusted_proxies?.replace("10.0.0.10", "127.0.0.1") ?? "",
  });
  const port = lastingPort();
  await using _ = await startProxy(commandOf(stage, port));
  await until("the proxy passes requests on", async () => (await ask(port, "/livez")) === 200);

  const bodies = Array.from({ length: 30 }, (_unused, n) => `message ${n}`);
  for (const body of bodies.slice(0, 15)) await post(stage, port, body);
  for (const server of stage.nodes)
    await server.logLine(({ method, status, address }) => {
      // The proxy tells who the client is, and each node believes it.
      return method === "POST" && status === 201 && address === client;
    });
  await stage.nodes[1]?.kill9();
  for (const body of bodies.slice(15)) await post(stage, port, body);
  const { json } = await stage
    .api(0)
    .get<{ data: Array<{ body: string }> }>(`/channels/${stage.team.general.id}/messages`);
  expect(json.data.map(({ body }) => body).sort()).toEqual([...bodies].sort());
}

/** Posts as the page asks clients to: with an id of theirs, and again if a node went away meanwhile. */
async function post(stage: NodesStage, port: number, body: string): Promise<void> {
  const message = JSON.stringify({ body, client_uuid: crypto.randomUUID() });
  const path = `/api/v1/channels/${stage.team.general.id}/messages`;
  await until(`${body} is posted`, async () =>
    [200, 201].includes(await ask(port, path, stage.token, message)),
  );
}

/** An address of this machine that is no proxy. */
const client = "127.0.0.2";

/** Asks the proxy from the client's address; returns the status, or 0 without an answer. */
async function ask(port: number, path: string, token = "", body?: string): Promise<number> {
  const child = Bun.spawn(
    [
      "curl",
      "-s",
      "-o",
      "/dev/null",
      "-w",
      "%{http_code}",
      "--interface",
      client,
      "--cacert",
      certificate.cert,
    ].concat(
      ["--resolve", `${host}:${port}:127.0.0.1`, "-H", `Authorization: Bearer ${token}`],
      body === undefined ? [] : ["-H", "Content-Type: application/json", "--data-binary", body],
      [`https://${host}:${port}${path}`],
    ),
    { stdin: "ignore", stderr: "ignore" },
  );
  return Number(await child.stdout.text());
}

/** Starts the proxy, which ends with the test. */
async function startProxy(command: string[]): Promise<AsyncDisposable> {
  const output = Bun.file(file(`${command[0]}.log`));
  const child = Bun.spawn(command, {
    env: { PATH: process.env.PATH, HOME: folder.path, XDG_DATA_HOME: folder.path },
    stdin: "ignore",
    stdout: output,
    stderr: output,
  });
  return {
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
    },
  };
}

/** The page's configuration with the nodes of the test in place of its own. */
function withNodes(configuration: string, { nodes }: NodesStage): string {
  return nodes.reduce(
    (so, { url }, n) => so.replaceAll(`10.0.0.1${n + 1}:8080`, `127.0.0.1:${new URL(url).port}`),
    configuration,
  );
}

/** The command of an nginx with the page's configuration, at a port of 127.0.0.1. */
function nginx(stage: NodesStage, port: number): string[] {
  const site = withNodes(text("nginx"), stage)
    .replace("listen 443 ssl", `listen 127.0.0.1:${port} ssl`)
    .replace("/var/log/nginx/error.log", file("error.log"))
    .replace(/(ssl_certificate )\S+;/, `$1${certificate.cert};`)
    .replace(/(ssl_certificate_key )\S+;/, `$1${certificate.key};`);
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${file(`nginx-${name}`)};`)
    .join(" ");
  const main = `daemon off; master_process off; pid ${file("nginx.pid")}; error_log stderr; events {}
    http { ${temporary} access_log ${file("access.log")}; ${site} }`;
  writeFileSync(file("nginx.conf"), main);
  return ["nginx", "-e", "stderr", "-c", file("nginx.conf")];
}

/** As `nginx`, of a Caddy. */
function caddy(stage: NodesStage, port: number): string[] {
  const site = withNodes(text("caddyfile"), stage)
    .replace("{\n", "{\n\tadmin off\n\tauto_https disable_redirects\n")
    .replace(
      `${host} {\n`,
      `${host}:${port} {\n\tbind 127.0.0.1\n\ttls ${certificate.cert} ${certificate.key}\n`,
    );
  writeFileSync(file("Caddyfile"), site);
  return ["caddy", "run", "--adapter", "caddyfile", "--config", file("Caddyfile")];
}
