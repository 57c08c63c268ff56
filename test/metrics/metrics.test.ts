import { describe, expect, test } from "bun:test";
import { engine } from "../support/engine.ts";
import { run } from "../support/cli.ts";
import { until } from "../support/conditions.ts";
import { metricsUrl, scrape, withMetrics } from "../support/metrics.ts";
import { startReceiver } from "../support/receivers/receiver.ts";
import { startServer } from "../support/server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { startWebhookStage } from "../support/webhook-stage.ts";
import { openWorkspace } from "../support/workspace.ts";
import { RawConnection } from "../hostile/raw-connection.ts";

describe("the metrics", () => {
  test("count requests by route and status, commits, attempts by outcome, waiting jobs and subscriptions", async () => {
    await using stage = await startWebhookStage(withMetrics);
    const url = await metricsUrl(stage.server);
    const channel = await stage.channel();
    await using healthy = await stage.listen({ channel_ids: [channel.id] });
    await using broken = startReceiver(() => new Response(null, { status: 500 }));
    const failing = await stage.subscribe(broken, { channel_ids: [channel.id] });
    const asleep = await stage.subscribe(broken, { channel_ids: [channel.id] });
    await stage.disable(asleep);

    for (let n = 0; n < 3; n++) await stage.post(channel);
    await stage.drained(healthy.subscription);
    await stage.drained(failing);
    const messages = "/api/v1/channels/:channel/messages";
    expect((await stage.api.get(`/channels/${channel.id}/messages?page=x`)).status).toBe(422);
    expect((await fetch(`${stage.server.url}/secret-in-a-path`)).status).toBe(404);

    const wanted: Record<string, number> = {
      [`parley_http_requests_total{method="POST",route="${messages}",status="201"}`]: 3,
      [`parley_http_requests_total{method="GET",route="${messages}",status="422"}`]: 1,
      [`parley_http_requests_total{method="GET",route="",status="404"}`]: 1,
      [`parley_http_request_duration_seconds_count{method="POST",route="${messages}"}`]: 3,
      [`parley_delivery_attempts_total{outcome="succeeded"}`]: 3,
      // Five attempts for each of the three events.
      [`parley_delivery_attempts_total{outcome="rejected"}`]: 15,
      parley_delivery_attempt_duration_seconds_count: 18,
      [`parley_queue_jobs{status="active"}`]: 0,
      [`parley_queue_jobs{status="disabled"}`]: 3,
      parley_queue_oldest_due_seconds: 0,
      parley_queue_fan_outs: 0,
      [`parley_subscriptions{status="active"}`]: 1,
      [`parley_subscriptions{status="failing"}`]: 1,
      [`parley_subscriptions{status="disabled"}`]: 1,
      parley_commit_failures_total: 0,
      parley_storage_failing: 0,
    };
    // The queue is looked through once a second.
    const seen = await until("the metrics say what has happened", async () => {
      const { text, values } = await scrape(url);
      return Object.entries(wanted).every(([name, value]) => values.get(name) === value) && { text, values };
    }).catch(async () => {
      const { text, values } = await scrape(url);
      expect(Object.fromEntries(Object.keys(wanted).map((name) => [name, values.get(name)]))).toEqual(wanted);
      return { text, values };
    });
    for (const name of [
      "parley_commit_duration_seconds_count",
      "parley_commit_writes_sum",
      ...(engine === "sqlite" ? ["parley_database_bytes", "parley_wal_bytes", "parley_disk_free_bytes"] : []),
      "parley_resident_memory_bytes",
      "parley_cpu_seconds_total",
      "parley_start_time_seconds",
    ]) {
      expect(seen.values.get(name), name).toBeGreaterThan(0);
    }
    const build = /^parley_build_info\{version="\d[^"]*",bun="\d[^"]*",sqlite="([^"]*)"\} 1$/m.exec(
      seen.text,
    );
    expect(build?.[1]).toMatch(engine === "sqlite" ? /^\d/ : /^$/);
    expect(seen.text).not.toContain(channel.id);
    expect(seen.text).not.toContain("secret-in-a-path");
  });

  test("have an address of their own that serves nothing else, and say nothing of themselves to a malformed request", async () => {
    await using server = await startServer({ environment: withMetrics });
    const url = await metricsUrl(server);
    const { origin } = new URL(url);
    expect((await fetch(`${server.url}/metrics`)).status).toBe(404);
    for (const path of ["/", "/healthz", "/readyz", "/api/v1/channels", "/metrics/", "/metricsx"]) {
      expect((await fetch(origin + path)).status, path).toBe(404);
    }
    expect((await fetch(url, { method: "HEAD" })).status).toBe(200);
    expect((await fetch(url, { method: "POST", body: "x" })).status).toBe(405);
    for (const head of [
      "GET /metrics HTTP/1.1\r\nHost: a b\r\n",
      "GET /metrics HTTP/1.1\r\nHost: [\r\n",
      "GET /metrics HTTP/1.1\r\nHost: a:99999\r\n",
      "GET http://[ HTTP/1.1\r\nHost: a\r\n",
      "GET //%ff%00 HTTP/1.1\r\nHost: a\r\n",
      "GET * HTTP/1.1\r\nHost: a\r\n",
      "GET /metrics HTTP/1.0\r\n",
      "BREW /metrics HTTP/1.1\r\nHost: a\r\n",
      "\u0000\u0001\u0002\r\n",
    ]) {
      using connection = new RawConnection(origin);
      connection.write(`${head}Connection: close\r\n\r\n`);
      connection.end();
      await connection.closed;
      expect(connection.received, head).not.toMatch(/at .*\(|\.ts|node_modules/);
    }
    const { text } = await scrape(url);
    expect(text).toContain("parley_build_info{");
    expect(await server.stop()).toBe(0);
    for (const line of server.logLines()) expect(JSON.parse(line)).not.toHaveProperty("err");
  });

  test("give methods that clients make up one name", async () => {
    await using server = await startServer({ environment: withMetrics });
    const url = await metricsUrl(server);
    for (const method of ["PROPFIND", "MKCOL", "LOCK"]) {
      expect((await fetch(`${server.url}/healthz`, { method })).status).toBe(405);
    }
    const { text, values } = await scrape(url);
    expect(values.get('parley_http_requests_total{method="other",route="/healthz",status="405"}')).toBe(3);
    expect(text).not.toContain("PROPFIND");
  });

  test("are off unless they have an address", async () => {
    await using server = await startServer();
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    await server.logLine(({ msg }) => msg === "server.started");
    expect(server.logLines().join("\n")).not.toContain("metrics");
  });
});

describe("an address for metrics that cannot be used", () => {
  async function refusal(address: string, port = "0"): Promise<string> {
    using folder = temporaryFolder();
    await (await openWorkspace(folder.path))[Symbol.asyncDispose]();
    const environment = { PARLEY_METRICS_ADDRESS: address, PARLEY_LOG_LEVEL: "silent" };
    const { status, stderr } = await run(folder.path, ["serve", "--port", port], environment);
    expect(status).toBe(1);
    return stderr;
  }

  test("is refused with its name when another program has it, or it is none of this machine", async () => {
    using other = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
    expect(await refusal(`127.0.0.1:${other.port}`)).toStartWith(
      `error: PARLEY_METRICS_ADDRESS: port ${other.port} of 127.0.0.1 is taken.`,
    );
    expect(await refusal("192.0.2.1:9464")).toStartWith(
      "error: PARLEY_METRICS_ADDRESS: port 9464 of 192.0.2.1 is not an address of this machine.",
    );
    expect(await refusal("9464")).toStartWith(
      'error: PARLEY_METRICS_ADDRESS is "9464"; it takes an address and a port',
    );
  });

  test("is refused with its name when it is the server's own", async () => {
    // Another process may take the port before the server does.
    const message = await until("a free port", async () => {
      const free = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
      const port = String(free.port);
      await free.stop(true);
      const said = await refusal(`127.0.0.1:${port}`, port);
      expect(said).toStartWith("error: PARLEY_METRICS_ADDRESS");
      return said.includes(`has port ${port} of the server itself.`) && said;
    });
    expect(message).not.toContain("PARLEY_PORT");
  });
});
