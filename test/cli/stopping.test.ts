import { describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { until } from "../support/conditions.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { type Stage, startStage } from "../support/stage.ts";
import { RawConnection, requestText } from "../hostile/raw-connection.ts";

function hasStopped(server: TestServer): boolean {
  return server.logLines().some((line) => line.includes('"server.stopped"'));
}

describe("the server", () => {
  test.each(["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"] as const)("stops cleanly with %s", async (signal) => {
    await using server = await startServer();
    expect(await server.stop(signal)).toBe(0);
    await until("it says so", () => hasStopped(server));
  });

  test("ignores signals that mean nothing to it", async () => {
    await using server = await startServer();
    for (const signal of ["SIGUSR1", "SIGUSR2", "SIGPIPE"] as const) {
      process.kill(server.pid, signal);
      expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    }
    expect(await server.stop()).toBe(0);
  });

  test("stops cleanly with its terminal, which may send SIGHUP more than once", async () => {
    await using stage = await startStage();
    const { token } = await stage.workspace.token(stage.cast.member);
    const body = '{"body": "at the last moment"}';
    const headers = ["Host: a", `Authorization: Bearer ${token}`, `Content-Length: ${body.length}`];
    using connection = new RawConnection(stage.server.url);
    const post = `POST /api/v1/channels/${stage.cast.open.id}/messages HTTP/1.1`;
    connection.write(requestText(post, headers, body.slice(0, -1)));
    await fetch(`${stage.server.url}/healthz`);
    process.kill(stage.server.pid, "SIGHUP");
    const ended = stage.server.stop("SIGHUP");
    connection.write(body.slice(-1));
    await connection.closed;
    expect(connection.answers().map(({ status }) => status)).toEqual([201]);
    expect(await ended).toBe(0);
  });

  test("is not stopped by SIGHUP under nohup", async () => {
    await using server = await startServer({ within: ["/bin/sh", "-c", `trap "" HUP; exec "$0" "$@"`] });
    process.kill(server.pid, "SIGHUP");
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    expect(await server.stop()).toBe(0);
  });

  test("waits at most a second for a request that is never completed", async () => {
    await using server = await startServer();
    using connection = new RawConnection(server.url);
    connection.write("GET /healthz HTTP/1.1\r\nHost: a\r\nX: ");
    await fetch(`${server.url}/healthz`);
    const startedAt = performance.now();
    expect(await server.stop()).toBe(0);
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });
});

describe("clients that keep their connections", () => {
  test("are told to close them before the server stops, and every request that it has read gets a response", async () => {
    await using stage = await startStage();
    const { token } = await stage.workspace.token(stage.cast.member);
    const path = `/api/v1/channels/${stage.cast.open.id}/messages`;
    for (let round = 1; round <= 3; round++) {
      if (round > 1) await stage.server.start();
      const clients = Array.from({ length: 32 }, (_, n) =>
        postOn(stage.server.url, path, token, `${round}/${n}`),
      );
      await until("all post", () => clients.every(({ answered }) => answered.length > 3));
      expect(await stage.server.stop()).toBe(0);
      await Promise.all(clients.map(({ ended }) => ended));
      // One that the machine holds up for longer than the server waits learns of it by the end of its connection.
      expect(clients.filter(({ wasTold }) => wasTold()).length).toBeGreaterThan(clients.length / 2);
      const answered = clients.flatMap((client) => client.answered);
      expect(await storedBodies(stage, `${round}/`)).toEqual(answered.toSorted());
    }
  });
});

/** Posts over one connection, the next message as soon as the one before is answered, until the connection has ended. */
function postOn(url: string, path: string, token: string, name: string) {
  const { hostname, port } = new URL(url);
  const answered: string[] = [];
  let wasTold = false;
  let received = "";
  let text = "";
  const socket = connect(Number(port), hostname);
  const post = () => {
    text = `${name}/${answered.length}`;
    const body = JSON.stringify({ body: text });
    const headers = ["Host: a", `Authorization: Bearer ${token}`, `Content-Length: ${body.length}`];
    socket.write(requestText(`POST ${path} HTTP/1.1`, headers, body));
  };
  socket.on("connect", post);
  socket.on("error", () => {});
  socket.on("data", (data) => {
    received += data.toString();
    // The body is JSON in one line, and the last of its braces is the last of the answer.
    if (!/^HTTP\/1\.1 201 [^{]*\{.*\}$/s.test(received)) return;
    answered.push(text);
    wasTold = /^connection: close\r$/im.test(received);
    received = "";
    if (!wasTold) post();
  });
  const ended = new Promise<void>((resolve) => socket.on("close", () => resolve()));
  return { answered, ended, wasTold: () => wasTold };
}

/** The messages whose text begins so, in the order of their texts, as the database has them. */
async function storedBodies({ workspace }: Stage, start: string): Promise<string[]> {
  const sql = "SELECT body FROM messages WHERE body LIKE ? || '%' ORDER BY body";
  const rows = await workspace.database.ask(({ $client }) =>
    $client.prepare<{ body: string }, [string]>(sql).all(start),
  );
  return rows.map(({ body }) => body);
}
