import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ChannelRow } from "../../../src/channels/store.ts";
import { alertmanager as sender } from "../../../src/incoming-webhooks/senders/alertmanager.ts";
import { until } from "../../support/conditions.ts";
import { atEndOfRun } from "../../support/end-of-run.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { startWebhookStage, type WebhookStage } from "../../support/webhook-stage.ts";
import { alertmanagerProgram, buildMs, hasGo } from "./programs.ts";

const generous = { timeout_ms: 60_000 };

type Running = AsyncDisposable & { url: string; log: () => string };

/** Starts a program of Prometheus that listens on a port of its own choice and logs where, in JSON. */
async function start(program: string, configuration: string): Promise<Running> {
  const folder = temporaryFolder();
  const config = join(folder.path, "configuration.yml");
  writeFileSync(config, configuration);
  const data = join(folder.path, "data");
  const own = program.endsWith("prometheus")
    ? // An alert that fires before Alertmanager is discovered is sent when this is over.
      [`--storage.tsdb.path=${data}`, "--rules.alert.resend-delay=1s"]
    : [`--storage.path=${data}`, "--cluster.listen-address="];
  const child = Bun.spawn(
    [program, `--config.file=${config}`, ...own, "--web.listen-address=127.0.0.1:0", "--log.format=json"],
    { stdin: "ignore", stdout: "ignore", stderr: "pipe" },
  );
  const forget = atEndOfRun(() => child.kill("SIGKILL"));
  void child.exited.then(forget);
  let said = "";
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const part of child.stderr) said += decoder.decode(part, { stream: true });
  })();
  const running = {
    url: "",
    log: () => said,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
      await reading;
      folder[Symbol.dispose]();
    },
  };
  try {
    const address = () =>
      said.split("\n").flatMap((line) => /"address":"(127\.0\.0\.1:[1-9]\d*)"/.exec(line)?.[1] ?? [])[0];
    running.url = `http://${await until(`${program} listens`, address, generous)}`;
    const isReady = async () => (await fetch(`${running.url}/-/ready`)).status === 200;
    await until(`${program} is ready`, isReady, generous);
    return running;
  } catch (error) {
    await running[Symbol.asyncDispose]();
    throw new Error(`${String(error)} It said: ${said}`);
  }
}

// Said in `programs.ts`; a test that is skipped would count as one that has not passed.
const describeWithGo = hasGo ? describe : () => {};

describeWithGo("a real Alertmanager", () => {
  let stage: WebhookStage;
  let alertmanager: Running;
  let slack: ChannelRow;
  let webhook: ChannelRow;
  beforeAll(async () => {
    stage = await startWebhookStage();
    slack = await stage.channel();
    webhook = await stage.channel();
    const address = async (channel: ChannelRow, suffix: string) =>
      `${stage.server.url}/webhooks/incoming/${(await stage.incoming(channel)).token}/${suffix}`;
    const { token, secret } = await stage.incoming(webhook, { signed: true });
    const printed = sender.setUp(`${stage.server.url}/webhooks/incoming/${token}/alertmanager`, secret);
    const webhookConfigs = printed
      .slice(printed.indexOf("      webhook_configs:"))
      .map((line) => line.slice(2))
      .join("\n");
    alertmanager = await start(
      await alertmanagerProgram(),
      `
global: { resolve_timeout: 1h }
route:
  receiver: parley
  group_by: [alertname]
  group_wait: 0s
  group_interval: 200ms
  repeat_interval: 1h
receivers:
  - name: parley
    slack_configs:
      - api_url: ${await address(slack, "slack")}
        channel: '#ignored'
        send_resolved: true
        text: '{{ range .Alerts }}{{ .Annotations.summary }}{{ end }}'
${webhookConfigs}
`,
    );
  }, buildMs);
  afterAll(async () => {
    await alertmanager?.[Symbol.asyncDispose]();
    await stage[Symbol.asyncDispose]();
  });

  async function post(alertname: string, times: { startsAt: string; endsAt?: string }): Promise<void> {
    const alert = {
      labels: { alertname, instance: "db1", severity: "page" },
      annotations: { summary: "91 % full", description: "The disk will be full within the hour." },
      generatorURL: "http://prometheus.example.com/graph?g0.expr=x",
      ...times,
    };
    const response = await fetch(`${alertmanager.url}/api/v2/alerts`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify([alert]),
    });
    expect(response.status, await response.text()).toBe(200);
  }

  const firstLines = async (channel: ChannelRow) =>
    (await stage.messages(channel)).map(({ body }) => body.split("\n", 1)[0]).reverse();

  const arrived = (what: string, title: string) =>
    until(
      what,
      async () =>
        (await firstLines(slack)).some((line) => line?.startsWith(title)) &&
        (await firstLines(webhook)).some((line) => line?.startsWith(title)),
      generous,
    );

  test("posts one readable message when an alert fires and one when it is resolved", async () => {
    const startsAt = new Date(Date.now() - 60_000).toISOString();
    await post("Disk", { startsAt });
    await arrived("the alert has arrived", "[FIRING:1] Disk");
    await post("Disk", { startsAt, endsAt: new Date(Date.now() - 1000).toISOString() });
    await arrived("its end has arrived", "[RESOLVED");
    // Whatever had to be repeated would have been by the time that another group has come and gone.
    await post("Other", { startsAt });
    await arrived("another alert has arrived", "[FIRING:1] Other");

    expect(await firstLines(slack)).toEqual([
      "[FIRING:1] Disk (db1 page)",
      "[RESOLVED] Disk (db1 page)",
      "[FIRING:1] Other (db1 page)",
    ]);
    const [, , bySlack] = await stage.messages(slack);
    expect(bySlack?.body).toMatch(
      /^\[FIRING:1\] Disk \(db1 page\)\n91 % full\nhttp:\/\/\S+\/#\/alerts\?receiver=parley$/,
    );
    expect(bySlack?.username).toBe("Alertmanager");

    const bodies = (await stage.messages(webhook)).map(({ body }) => body).reverse();
    expect(bodies).toHaveLength(3);
    expect(bodies[0]).toMatch(
      /^\[FIRING:1\] Disk: 91 % full\nThe disk will be full within the hour\.\ninstance=db1, severity=page\nSource: http:\/\/prometheus\.example\.com\/graph\?g0\.expr=x\nAlertmanager: http:\/\/\S+\/#\/alerts\?receiver=parley$/,
    );
    expect(bodies[1]).toStartWith("[RESOLVED:1] Disk: 91 % full\n");

    const metrics = await (await fetch(`${alertmanager.url}/metrics`)).text();
    const failed = metrics
      .split("\n")
      .filter((line) => /^alertmanager_notifications_failed_total\{.* [1-9]/.test(line));
    expect(failed).toEqual([]);
    expect(
      alertmanager
        .log()
        .split("\n")
        .filter((line) => /"level":"(?:WARN|ERROR)"/i.test(line)),
    ).toEqual([]);
  }, 120_000);

  test("posts what a real Prometheus finds", async () => {
    const rules = temporaryFolder();
    const file = join(rules.path, "rules.yml");
    writeFileSync(
      file,
      `groups: [{ name: g, rules: [{ alert: Watched, expr: vector(7) > 5, annotations: { summary: "{{ $value }} of 5" } }] }]`,
    );
    await using _prometheus = await start(
      "prometheus",
      `global: { scrape_interval: 1s, evaluation_interval: 200ms }
rule_files: [${JSON.stringify(file)}]
alerting: { alertmanagers: [{ static_configs: [{ targets: ["${new URL(alertmanager.url).host}"] }] }] }
`,
    );
    await arrived("the alert has arrived", "[FIRING:1] Watched");
    expect(await firstLines(webhook)).toContain("[FIRING:1] Watched: 7 of 5");
    rules[Symbol.dispose]();
  }, 120_000);
});
