import { describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { testOnSqlite } from "../support/on-sqlite.ts";
import { keys, onTerminal, run, runJson, runRefused } from "../support/cli.ts";
import { apiClient } from "../support/client.ts";
import { until } from "../support/conditions.ts";
import { startServer } from "../support/server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { openWorkspace } from "../support/workspace.ts";

/** A request whose body is not all there yet, so that the server is busy with it. */
async function openRequest(url: string, path: string, token: string, body: string) {
  const { hostname, port } = new URL(url);
  const socket: Socket = connect(Number(port), hostname);
  let received = "";
  socket.on("data", (data) => (received += data.toString()));
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.on("error", () => {});
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${token}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, -1)}`,
  );
  return { finish: () => socket.write(body.slice(-1)), received: () => received, closed };
}

describe("parley serve", () => {
  test("prints its URL in one JSON document and logs only to standard error", async () => {
    await using server = await startServer();
    expect(server.url).toMatch(/^http:\/\/localhost:\d+$/);
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    await server.logLine(({ msg }) => msg === "request.handled");
    expect(await server.stop()).toBe(0);
  });

  test("stops accepting connections on SIGTERM, finishes the request in flight and exits with 0", async () => {
    await using server = await startServer();
    await using workspace = await openWorkspace(server.dataDir);
    const { owner, general } = await workspace.team("Acme");
    const { token } = await workspace.token(owner);
    const path = `/api/v1/channels/${general.id}/messages`;
    const request = await openRequest(server.url, path, token, '{"body":"the last one"}');
    // The server has taken the request when it has answered a later one.
    await fetch(`${server.url}/healthz`);

    const ended = server.stop();
    await until("the server takes no new connection", async () =>
      fetch(`${server.url}/healthz`).then(
        () => false,
        () => true,
      ),
    );
    request.finish();
    await request.closed;
    expect(request.received()).toStartWith("HTTP/1.1 201");
    expect(await ended).toBe(0);
  });

  test("exits immediately on a second signal, whatever is in flight", async () => {
    await using server = await startServer();
    await using workspace = await openWorkspace(server.dataDir);
    const { owner, general } = await workspace.team("Acme");
    const { token } = await workspace.token(owner);
    const path = `/api/v1/channels/${general.id}/messages`;
    const request = await openRequest(server.url, path, token, '{"body":"never sent"}');
    await fetch(`${server.url}/healthz`);
    const first = server.stop();
    await until("the server takes no new connection", async () =>
      fetch(`${server.url}/healthz`).then(
        () => false,
        () => true,
      ),
    );
    process.kill(server.pid, "SIGINT");
    expect(await first).toBe(1);
    await request.closed;
    expect(request.received()).toBe("");
  });

  test("rejects a port that is taken, and says what to do", async () => {
    using other = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
    using folder = temporaryFolder();
    await (await openWorkspace(folder.path))[Symbol.asyncDispose]();
    const { status, message } = await runRefused(folder.path, ["serve", "--port", String(other.port)]);
    expect(status).toBe(1);
    expect(message).toContain(`Port ${other.port} of 127.0.0.1 is taken`);
    expect(message).toContain("--port");
  });

  test("rejects the port of another server, with a different data folder and on every interface too", async () => {
    await using server = await startServer();
    using folder = temporaryFolder();
    await (await openWorkspace(folder.path))[Symbol.asyncDispose]();
    const { port } = new URL(server.url);
    for (const host of ["127.0.0.1", "0.0.0.0", "::"]) {
      const { status, message } = await runRefused(folder.path, ["serve", "--port", port, "--host", host]);
      expect(status).toBe(1);
      expect(message).toContain(`Port ${port} of ${host} is taken`);
    }
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  });

  test("binds immediately to a port that a server has just left with connections open", async () => {
    using folder = temporaryFolder();
    await (await openWorkspace(folder.path))[Symbol.asyncDispose]();
    await using server = await startServer();
    const { port } = new URL(server.url);
    // Closed by the server: for a minute the system remembers such a connection under the port.
    await fetch(`${server.url}/healthz`);
    expect(await server.stop()).toBe(0);
    await using screen = onTerminal(folder.path, ["serve", "--port", port]);
    await screen.shows(`Parley is listening at http://localhost:${port}`);
    screen.type(keys.interrupt);
    expect(await screen.ended()).toBe(0);
  });

  test.each(["192.0.2.1", "host.invalid"])(
    "refuses %s, which is not an address of this machine",
    async (host) => {
      using folder = temporaryFolder();
      await (await openWorkspace(folder.path))[Symbol.asyncDispose]();
      const { status, message } = await runRefused(folder.path, ["serve", "--port", "0", "--host", host]);
      expect(status).toBe(1);
      expect(message).toStartWith(`"${host}" is not an address of this machine.`);
    },
  );

  // On PostgreSQL the database tells a server of work, not a file.
  testOnSqlite("exits with 1 and one line when a file of the data folder cannot be used", async () => {
    using folder = temporaryFolder();
    await (await openWorkspace(folder.path))[Symbol.asyncDispose]();
    mkdirSync(join(folder.path, "queue.signal"));
    const { status, stderr } = await run(folder.path, ["serve", "--port", "0"]);
    expect(status).toBe(1);
    expect(stderr).toMatch(/^error: .*queue\.signal.*\n$/);
    expect(stderr).not.toContain("Port");
  });

  test("rejects a folder that another server serves, and keeps its lock from other logins", async () => {
    await using server = await startServer();
    const { status, message } = await runRefused(server.dataDir, ["serve", "--port", "0"]);
    expect(status).toBe(1);
    expect(message).toContain("Another parley is serving");
    expect(statSync(join(server.dataDir, "server.lock")).mode & 0o777).toBe(0o600);
  });

  test("does not mistake an unusable lock for another server", async () => {
    using folder = temporaryFolder();
    await (await openWorkspace(folder.path))[Symbol.asyncDispose]();
    writeFileSync(
      join(folder.path, "server.lock"),
      "This is no lock, and it is long enough to be one.".repeat(99),
    );
    const { status, message } = await runRefused(folder.path, ["serve", "--port", "0"]);
    expect(status).toBe(1);
    expect(message).not.toContain("Another parley");
  });

  test("leaves no core dump, which would contain its keys, whatever the limits say", async () => {
    await using server = await startServer();
    const limits = readFileSync(`/proc/${server.pid}/limits`, "utf8");
    expect(limits).toMatch(/^Max core file size +0 +0 /m);
  });

  test("tells people the address and how to stop it", async () => {
    using folder = temporaryFolder();
    await (await openWorkspace(folder.path))[Symbol.asyncDispose]();
    await using screen = onTerminal(folder.path, ["serve", "--port", "0"], { PARLEY_LOG_LEVEL: "warn" });
    await screen.shows("Parley is listening at http://localhost:");
    await screen.shows("Stop it with Ctrl-C.");
    screen.type(keys.interrupt);
    expect(await screen.ended()).toBe(0);
  });
});

test("a change by a command applies to the server's next request", async () => {
  await using server = await startServer();
  const { dataDir } = server;
  {
    await using workspace = await openWorkspace(dataDir);
    await workspace.team("Acme");
  }
  await runJson(dataDir, ["bots", "create", "--name", "ci", "--channel", "general"]);
  const create = ["tokens", "create", "--bot", "ci", "--all-scopes"];
  const { id, token } = await runJson<{ id: string; token: string }>(dataDir, create);
  const client = apiClient(server.url, token);
  expect((await client.get<{ data: unknown[] }>("/channels")).json.data).toHaveLength(1);

  const channel = ["channels", "create", "--name", "deploys", "--visibility", "private", "--as", "ci"];
  await runJson(dataDir, channel);
  expect((await client.get<{ data: unknown[] }>("/channels")).json.data).toHaveLength(2);
  expect((await run(dataDir, ["tokens", "revoke", id, "--yes"])).status).toBe(0);
  expect((await client.get("/channels")).status).toBe(401);
});
