import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { engine } from "../support/engine.ts";
import { until } from "../support/conditions.ts";
import { metricNames, metricsUrl, scrape, withMetrics } from "../support/metrics.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { startWebhookStage } from "../support/webhook-stage.ts";
import { atEndOfRun } from "../support/end-of-run.ts";

const root = join(import.meta.dir, "..", "..");
const rulesFile = join(root, "docs", "alerts.yml");
/** Of the file, so that there are none on PostgreSQL, as the documents say. */
const ofTheFile = ["parley_database_bytes", "parley_wal_bytes"];
const generous = { timeout_ms: 60_000 };

/** A query of the dashboard, as Grafana sends it. */
type Panel = { title: string; targets?: Array<{ expr: string }> };

const dashboardText = readFileSync(join(root, "docs", "grafana-dashboard.json"), "utf8");
const { panels } = JSON.parse(dashboardText) as { panels: Panel[] };
const queries = panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => ({
    title,
    query: expr.replaceAll("$__rate_interval", "1m").replaceAll("$instance", ".*"),
  })),
);

async function promtool(args: string[], input = ""): Promise<{ status: number; said: string }> {
  const child = Bun.spawn(["promtool", ...args], {
    stdin: new Blob([input]),
    stdout: "pipe",
    stderr: "pipe",
    cwd: root,
  });
  const [stdout, stderr, status] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ]);
  return { status, said: stdout + stderr };
}

/** A Prometheus that scrapes the target five times a second with our rules. */
async function startPrometheus(target: string): Promise<AsyncDisposable & { url: string }> {
  const folder = temporaryFolder();
  const config = join(folder.path, "prometheus.yml");
  writeFileSync(
    config,
    `global: { scrape_interval: 200ms, evaluation_interval: 200ms }
rule_files: [${JSON.stringify(rulesFile)}]
scrape_configs: [{ job_name: parley, static_configs: [{ targets: ["${target}"] }] }]
`,
  );
  const storage = `--storage.tsdb.path=${join(folder.path, "data")}`;
  const command = [
    "prometheus",
    `--config.file=${config}`,
    storage,
    "--web.listen-address=127.0.0.1:0",
    "--log.format=json",
  ];
  const child = Bun.spawn(command, { stdin: "ignore", stdout: "ignore", stderr: "pipe" });
  const forget = atEndOfRun(() => child.kill("SIGKILL"));
  void child.exited.then(forget);
  let said = "";
  const decoder = new TextDecoder();
  const reading = (async () => {
    for await (const part of child.stderr) said += decoder.decode(part, { stream: true });
  })();
  const address = await until(
    "Prometheus listens",
    () => /"address":"(127\.0\.0\.1:\d+)"[^\n]*"msg":"Listening on"/.exec(said)?.[1],
    generous,
  ).catch((error: unknown) => {
    child.kill("SIGKILL");
    throw new Error(`${String(error)} It said: ${said}`);
  });
  // It listens before it answers queries.
  const isReady = async () => (await fetch(`http://${address}/-/ready`)).status === 200;
  await until("Prometheus is ready", isReady, generous);
  return {
    url: `http://${address}`,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
      await reading;
      folder[Symbol.dispose]();
    },
  };
}

/** Asks Prometheus a query now, and returns the values of the series. */
async function ask(url: string, query: string): Promise<string[]> {
  const response = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(query)}`);
  const answer = (await response.json()) as {
    status: string;
    error?: string;
    data?: { result: Array<{ value: [number, string] }> };
  };
  expect({ status: answer.status, error: answer.error }, query).toEqual({
    status: "success",
    error: undefined,
  });
  return (answer.data?.result ?? []).map(({ value }) => value[1]);
}

describe("a real Prometheus", () => {
  test("scrapes the server, answers every query of the dashboard and evaluates every alert rule", async () => {
    await using stage = await startWebhookStage(withMetrics);
    const url = await metricsUrl(stage.server);
    const channel = await stage.channel();
    await using listener = await stage.listen({ channel_ids: [channel.id] });
    await using prometheus = await startPrometheus(new URL(url).host);
    // A rate needs a value before and after something has happened.
    const hasScraped = async () => (await ask(prometheus.url, "count_over_time(up[1m]) > 1")).length > 0;
    await until("two scrapes", hasScraped, generous);
    for (let n = 0; n < 3; n++) await stage.post(channel);
    await stage.drained(listener.subscription);
    // The files of PostgreSQL are its own to measure.
    const ofFiles = /parley_(?:database|wal|disk_free)_bytes/;
    for (const { title, query } of queries) {
      if (engine === "postgres" && ofFiles.test(query)) continue;
      const what = `the panel ${title} has a value for ${query}`;
      await until(what, async () => (await ask(prometheus.url, query)).length > 0, generous);
    }
    expect(await ask(prometheus.url, 'up{job="parley"}')).toEqual(["1"]);
    const posts = 'parley_http_requests_total{method="POST",route="/api/v1/channels/:channel/messages"}';
    const hasPosts = async () => (await ask(prometheus.url, posts))[0] === "3";
    await until("the posts are counted", hasPosts, generous);

    const rules = await until(
      "every rule was evaluated",
      async () => {
        const response = await fetch(`${prometheus.url}/api/v1/rules`);
        const { data } = (await response.json()) as {
          data: { groups: Array<{ rules: Array<{ name: string; health: string; lastError?: string }> }> };
        };
        const all = data.groups.flatMap((group) => group.rules);
        return all.every(({ health }) => health !== "unknown") && all;
      },
      generous,
    );
    expect(rules.length).toBeGreaterThan(10);
    expect(rules.filter(({ health }) => health !== "ok")).toEqual([]);

    const { text } = await scrape(url);
    expect(await promtool(["check", "metrics"], text)).toEqual({ status: 0, said: "" });
    expectNamesOf(text);
  }, 180_000);

  test("finds our alert rules in order, and each fires when it should and not before", async () => {
    expect((await promtool(["check", "rules", rulesFile])).status).toBe(0);
    const { status, said } = await promtool(["test", "rules", "test/metrics/alerts.test.yml"]);
    expect(status, said).toBe(0);
  }, 60_000);
});

/** Each metric of the scrape is documented, and each that the documents, dashboard and rules name is in the scrape. */
function expectNamesOf(text: string): void {
  const served = new Set(metricNames(text));
  const documented = namesIn(readFileSync(join(root, "docs", "monitoring.md"), "utf8"));
  const missing = engine === "sqlite" ? [] : ofTheFile;
  expect([...documented].toSorted()).toEqual([...served, ...missing].toSorted());
  for (const file of [dashboardText, readFileSync(rulesFile, "utf8")]) {
    const used = namesIn(file);
    expect(used.size).toBeGreaterThan(5);
    expect([...used].filter((name) => !served.has(name) && !missing.includes(name))).toEqual([]);
  }
}

function namesIn(text: string): Set<string> {
  const names = text.match(/\bparley_[a-z_]+\b/g) ?? [];
  return new Set(
    names.map((name) => name.replace(/^(parley_\w+_(?:seconds|writes))_(?:bucket|sum|count)$/, "$1")),
  );
}
