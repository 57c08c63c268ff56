import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { until } from "../support/conditions.ts";
import { startServer, type TestServer, underLimits } from "../support/server.ts";
import { startWebhookStage } from "../support/webhook-stage.ts";
import { RawConnection } from "./raw-connection.ts";

/** A request that never ends, for which nobody needs a token. */
const halfRequest = "POST /api/v1/channels HTTP/1.1\r\nHost: a\r\nX: ";

/** Half-sent requests, opened at once and held: `using flood = openHalf(url, 2_000)`. */
function openHalf(url: string, count: number): Disposable {
  const connections = Array.from({ length: count }, () => new RawConnection(url));
  for (const connection of connections) connection.write(halfRequest);
  return {
    [Symbol.dispose]() {
      for (const connection of connections) connection[Symbol.dispose]();
    },
  };
}

/** What the process of the server has of its own: its threads by name, without the runtime's helpers that come and go. */
function threadsOf({ pid }: TestServer): string[] {
  const tasks = readdirSync(`/proc/${pid}/task`);
  return tasks.map((task) => readFileSync(`/proc/${pid}/task/${task}/comm`, "utf8").trim());
}

function softLimitOf({ pid }: TestServer): number {
  return Number(/^Max open files\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/limits`, "utf8"))?.[1]);
}

describe("file descriptors", () => {
  test("are used up to the hard limit: the server raises the soft one", async () => {
    await using server = await startServer({ within: underLimits("-S -n 200 && ulimit -H -n 300") });
    expect(softLimitOf(server)).toBe(300);
  });

  test("are reserved for the first delivery before a client can use any", async () => {
    await using server = await startServer();
    expect(threadsOf(server)).toContain("HTTP Client");
  });

  test.each([64, 256])(
    "%i of them and a flood of half-sent requests before the first delivery: it is served and delivers within seconds",
    async (limit) => {
      await using stage = await startWebhookStage({}, { within: underLimits(`-n ${limit}`) });
      await using listener = await stage.listen({ events: ["message.created"] });
      using _flood = openHalf(stage.server.url, 1_000);
      await stage.server.logLine(({ msg }) => msg === "server.descriptors_short");
      // A client that is turned away may try again.
      await until("a message is posted", () => stage.post(stage.team.general, "through").catch(() => false));
      expect((await listener.delivered()).map(({ data }) => data.body)).toContain("through");
      expect((await stage.shown(listener.subscription)).status).toBe("active");
      expect(await stage.server.stop()).toBe(0);
    },
  );

  test("that run short close idle connections, and every request gets a response", async () => {
    await using server = await startServer({ within: underLimits("-n 64") });
    // More connections than there is room for, each of which is kept after its request.
    const connections = Array.from({ length: 200 }, () => new RawConnection(server.url));
    for (const connection of connections) connection.write("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    for (const connection of connections) {
      using asked = connection;
      expect((await asked.waitForAnswers(1)).map(({ status }) => status)).toEqual([200]);
    }
  });
});
