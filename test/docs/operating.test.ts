import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run, runJson } from "../support/cli.ts";
import { until } from "../support/conditions.ts";
import { labelledBlocks } from "../support/documents.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const folder = temporaryFolder();
const file = (name: string) => join(folder.path, name);
const dataDir = file("data");
const blocks = labelledBlocks("docs/operating.md");
const text = (language: string) => blocks.find((block) => block.language === language)?.code ?? "";

/** The proxies listen at a socket in the folder, so that no test needs a port that is free. */
const socket = file("proxy.sock");
const certificate = { key: file("key.pem"), cert: file("cert.pem") };
let server: TestServer;

beforeAll(async () => {
  await runJson(dataDir, ["init", "--team", "Acme", "--owner", "Ana"]);
  server = await startServer({ dataDir });
  const { success, stderr } = Bun.spawnSync(
    ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"].concat(
      ["-keyout", certificate.key, "-out", certificate.cert, "-subj", "/CN=parley.example.com"],
      ["-addext", "subjectAltName=DNS:parley.example.com"],
    ),
  );
  expect(success, stderr.toString()).toBe(true);
}, 60_000);
afterAll(async () => {
  await server.stop();
  folder[Symbol.dispose]();
});

test("the settings that the page shows are what the server and its commands then use", async () => {
  const [, toml = ""] = /<<'END'\n([^]*?)^END$/m.exec(text("sh")) ?? [];
  const other = file("settings");
  await runJson(other, ["init", "--team", "Acme", "--owner", "Ana"]);
  writeFileSync(join(other, "parley.toml"), toml);
  const { status, stdout } = await run(other, ["config", "show"]);
  expect({ status, stdout }).toEqual({
    status: 0,
    stdout: expect.stringContaining("https://parley.example.com"),
  });
});

// Where a proxy is not installed there is nothing to try; ./test.sh installs both.
const testWith = (program: string) => (Bun.which(program) === null ? () => {} : test);

testWith("nginx")(
  "nginx as on the page serves the API, and logs no webhook's address",
  async () => {
    const passed = await through(nginx, new URL(server.url).host, tryRoutes);
    expect(passed.logs).toContain("/api/v1/docs");
    expect(passed.logs).not.toContain(passed.token);
  },
  60_000,
);

testWith("nginx")(
  "nginx logs no webhook's address either while Parley is away",
  async () => {
    const failed = await through(nginx, nobody, tryWithout);
    expect(failed.logs).toContain("/livez");
    expect(failed.logs).not.toContain(failed.token);
  },
  60_000,
);

testWith("caddy")(
  "Caddy as on the page serves the API, and logs no webhook's address",
  async () => {
    const passed = await through(caddy, new URL(server.url).host, tryRoutes);
    expect(passed.logs).not.toContain(passed.token);
  },
  60_000,
);

testWith("caddy")(
  "Caddy logs no webhook's address either while Parley is away",
  async () => {
    const failed = await through(caddy, nobody, tryWithout);
    expect(failed.logs).toContain('"uri":"/webhooks/incoming/…"');
    expect(failed.logs).not.toContain(failed.token);
  },
  60_000,
);

/** Nothing listens there. */
const nobody = "127.0.0.1:1";

/** The command of an nginx with the page's configuration in front of the address, and all that it logs. */
function nginx(address: string) {
  const logs = ["access.log", "error.log", "nginx.log"].map(file);
  const [access = "", errors = ""] = logs;
  const site = text("nginx")
    .replace("127.0.0.1:8080", address)
    .replace("listen 443 ssl", `listen unix:${socket} ssl`)
    .replace("/var/log/nginx/error.log", errors)
    .replace(/(ssl_certificate )\S+;/, `$1${certificate.cert};`)
    .replace(/(ssl_certificate_key )\S+;/, `$1${certificate.key};`);
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${file(`nginx-${name}`)};`)
    .join(" ");
  const main = `daemon off; master_process off; pid ${file("nginx.pid")}; error_log stderr; events {}
    http { ${temporary} access_log ${access}; ${site} }`;
  writeFileSync(file("nginx.conf"), main);
  return { command: ["nginx", "-e", "stderr", "-c", file("nginx.conf")], logs };
}

/** As `nginx`, of a Caddy. */
function caddy(address: string) {
  const site = text("caddyfile")
    .replace("127.0.0.1:8080", address)
    .replace("{\n", "{\n\tadmin off\n\tauto_https disable_redirects\n")
    .replace(".com {\n", `.com {\n\tbind unix/${socket}\n\ttls ${certificate.cert} ${certificate.key}\n`);
  writeFileSync(file("Caddyfile"), site);
  return {
    command: ["caddy", "run", "--adapter", "caddyfile", "--config", file("Caddyfile")],
    logs: [file("caddy.log")],
  };
}

/** Does something through a proxy, stops that, and returns the webhook's token that was used and all that was logged. */
async function through(
  proxy: (address: string) => { command: string[]; logs: string[] },
  address: string,
  use: () => Promise<string>,
): Promise<{ token: string; logs: string }> {
  const { command, logs } = proxy(address);
  for (const log of logs) rmSync(log, { force: true });
  rmSync(socket, { force: true });
  const output = file(`${command[0]}.log`);
  const child = Bun.spawn(command, {
    env: { PATH: process.env.PATH, HOME: folder.path, XDG_DATA_HOME: folder.path },
    stdin: "ignore",
    stdout: Bun.file(output),
    stderr: Bun.file(output),
  });
  const read = () => logs.map((log) => (existsSync(log) ? readFileSync(log, "utf8") : "")).join("\n");
  try {
    await until("the proxy answers", async () => {
      if (child.exitCode !== null) throw new Error(`${command.join(" ")} ended: ${read()}`);
      return ask("/livez").then(
        () => true,
        () => false,
      );
    });
    const token = await use();
    child.kill();
    await child.exited;
    return { token, logs: read() };
  } finally {
    child.kill();
    await child.exited;
  }
}

/** Asks through the proxy what people and senders ask; returns the token in the webhook's address. */
async function tryRoutes(): Promise<string> {
  const path = await webhookPath();
  const post = (body: string) => ask(path, { method: "POST", body: JSON.stringify({ text: body }) });
  expect((await post("hello")).status).toBe(202);
  const tooLarge = await post("x".repeat(1_500_000));
  expect(tooLarge.status).toBe(413);
  expect(await tooLarge.json()).toEqual({ message: "The body must not be larger than 1024 KiB." });
  expect((await ask("/api/v1/docs")).status).toBe(200);
  return path.split("/").at(-1) ?? "";
}

/** Asks the same where Parley does not answer. */
async function tryWithout(): Promise<string> {
  const path = await webhookPath();
  expect((await ask(path, { method: "POST", body: "{}" })).status).toBe(502);
  return path.split("/").at(-1) ?? "";
}

async function webhookPath(): Promise<string> {
  const name = `ci-${crypto.randomUUID()}`;
  await runJson(dataDir, ["bots", "create", "--name", name, "--channel", "general"]);
  const create = ["incoming-webhooks", "create", "--bot", name, "--channel", "general"];
  return new URL((await runJson<{ url: string }>(dataDir, create)).url).pathname;
}

function ask(path: string, init: RequestInit = {}): Promise<Response> {
  const ca = readFileSync(certificate.cert, "utf8");
  return fetch(`https://parley.example.com${path}`, { ...init, unix: socket, tls: { ca } });
}
