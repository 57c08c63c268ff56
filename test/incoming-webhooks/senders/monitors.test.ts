import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { alertmanager } from "../../../src/incoming-webhooks/senders/alertmanager.ts";
import { grafana } from "../../../src/incoming-webhooks/senders/grafana.ts";
import { messageIn, payloadOf } from "../../../src/incoming-webhooks/senders/read-post.ts";
import type { Sender } from "../../../src/incoming-webhooks/senders/sender.ts";
import { uptimeKuma } from "../../../src/incoming-webhooks/senders/uptime-kuma.ts";

const textOf = (sender: Sender, payload: unknown) => messageIn(sender, payload, new Headers()).text;

const sample = (name: string): unknown =>
  JSON.parse(readFileSync(join(import.meta.dir, "samples", "monitors", name), "utf8"));

function alert(instance: string, more: object = {}) {
  return {
    status: "firing",
    labels: { alertname: "Disk", instance, severity: "page" },
    annotations: { summary: `${instance} is 91 % full` },
    startsAt: "2026-11-23T07:00:00Z",
    endsAt: "0001-01-01T00:00:00Z",
    generatorURL: "http://prometheus/graph",
    ...more,
  };
}

const group = (alerts: object[], more: object = {}) => ({
  version: "4",
  groupKey: "{}:{}",
  receiver: "on call",
  status: "firing",
  alerts,
  groupLabels: { alertname: "Disk" },
  commonLabels: { alertname: "Disk", severity: "page" },
  commonAnnotations: {},
  externalURL: "http://alertmanager:9093/",
  ...more,
});

describe("Alertmanager", () => {
  test("a group says once what its alerts share, and those that fire come first", () => {
    const alerts = [
      alert("db1", { status: "resolved" }),
      alert("db2"),
      alert("db3", { annotations: { description: "Two\nlines" } }),
    ];
    const commonAnnotations = { runbook_url: "https://example.com/disk" };
    expect(textOf(alertmanager, group(alerts, { commonAnnotations }))).toBe(`[FIRING:2, RESOLVED:1] Disk
severity=page
- instance=db2 – db2 is 91 % full
- instance=db3 – Two lines
- resolved: instance=db1 – db1 is 91 % full
Runbook: https://example.com/disk
Source: http://prometheus/graph
Alertmanager: http://alertmanager:9093/#/alerts?receiver=on%20call`);
  });

  test("of a large group ten alerts are shown, and how many more there are", () => {
    const alerts = Array.from({ length: 14 }, (_, n) => alert(`db${n}`));
    const lines = textOf(alertmanager, group(alerts, { truncatedAlerts: 3 })).split("\n");
    expect(lines.filter((line) => line.startsWith("- "))).toHaveLength(10);
    expect(lines[12]).toBe("and 7 more");
  });

  test("of a group that Alertmanager cut to one alert, it is said how many more there are", () => {
    const text = textOf(alertmanager, group([alert("db1")], { truncatedAlerts: 3 }));
    expect(text).toContain("\ninstance=db1, severity=page\nand 3 more\n");
  });

  test("a name is on one line, whatever it holds", () => {
    const labels = { alertname: "Disk\n\u0007full" };
    const commonLabels = labels;
    expect(textOf(alertmanager, group([alert("db1", { labels })], { commonLabels }))).toStartWith(
      "[FIRING:1] Disk full: db1 is 91 % full\n",
    );
  });

  test("a group of several names tells them apart", () => {
    const alerts = [alert("db1"), alert("db1", { labels: { alertname: "CPU", instance: "db1" } })];
    const commonLabels = { instance: "db1" };
    const text = textOf(alertmanager, group(alerts, { groupLabels: commonLabels, commonLabels }));
    expect(text).toContain("[FIRING:2] instance=db1\n");
    expect(text).toContain("- Disk severity=page – db1 is 91 % full\n- CPU – db1 is 91 % full\n");
  });

  test("long texts are cut, so that the other alerts are seen too", () => {
    const long = { annotations: { summary: "x".repeat(5000), description: "y".repeat(5000) } };
    const text = textOf(alertmanager, group([alert("db1", long), alert("db2", long)]));
    expect(text.split("\n").map((line) => line.length)).toSatisfy((all) => all.every((one) => one <= 300));
    expect(text).toContain("\n- instance=db2 – xxx");
  });

  test("what has no alerts makes a short line", () => {
    expect(textOf(alertmanager, { receiver: "on call", status: "firing" })).toBe("[FIRING] on call");
    expect(textOf(alertmanager, {})).toBe("Alerts");
  });
});

describe("Grafana", () => {
  test("its published sample is one readable message", () => {
    expect(textOf(grafana, sample("grafana.json"))).toBe(`[FIRING:2] (blue)
team=blue
- High memory usage zone=us-1 – This alert was triggered for zone us-1 (B=44.2394, C=1)
  https://play.grafana.org/alerting/1afz29v7z/edit
- High CPU usage zone=eu-1 – This alert was triggered for zone eu-1 (B=44.2394, C=1)
  https://play.grafana.org/alerting/d1rdpdv7k/edit`);
  });

  test("one alert has its values and its links", () => {
    const links = {
      dashboardURL: "https://grafana/d/1",
      panelURL: "https://grafana/d/1?viewPanel=2",
      silenceURL: "https://grafana/alerting/silence/new",
      generatorURL: "https://grafana/alerting/1/edit",
    };
    const alerts = [alert("db1", { ...links, values: { A: 91.25 } })];
    expect(textOf(grafana, group(alerts, { orgId: 1, title: "[FIRING:1] Disk db1" })))
      .toBe(`[FIRING:1] Disk db1
db1 is 91 % full
instance=db1, severity=page
(A=91.25)
Panel: https://grafana/d/1?viewPanel=2
Dashboard: https://grafana/d/1
Source: https://grafana/alerting/1/edit
Silence: https://grafana/alerting/silence/new`);
  });

  test("a message of the user's own template takes the place of the alerts", () => {
    const own = { orgId: 1, title: "Disk!", message: "Call Mona." };
    expect(textOf(grafana, group([alert("db1")], own))).toBe("Disk!\nCall Mona.");
  });

  test("an alert of Grafana 8's notification channels shows its values", () => {
    expect(textOf(grafana, sample("grafana-legacy.json"))).toBe(`[Alerting] Panel Title alert
Notification Message
- Count: 1
http://localhost:3000/d/hZ7BuVbWz/test-dashboard?fullscreen&edit&tab=alert&panelId=2&orgId=1
https://grafana.com/assets/img/blog/mixed_styles.png`);
  });
});

describe("Uptime Kuma", () => {
  test("a monitor that goes down, and comes up", () => {
    const down = sample("uptime-kuma.json") as { heartbeat: object; monitor: object };
    expect(textOf(uptimeKuma, down))
      .toBe(`Testing is down: PING 10.13.13.13 (10.13.13.13) 56(84) bytes of data.

--- 10.13.13.13 ping statistics ---
10 packets transmitted, 0 received, 100% packet loss, time 400ms
10.13.13.13
2022-01-21 14:06:38 UTC`);
    const up = {
      monitor: { name: "Site", url: "https://example.com" },
      heartbeat: {
        status: 1,
        msg: "200 - OK",
        localDateTime: "2026-11-23 08:00:00",
        timezone: "Europe/Berlin",
      },
    };
    expect(textOf(uptimeKuma, up)).toBe(
      "Site is up: 200 - OK\nhttps://example.com\n2026-11-23 08:00:00 (Europe/Berlin)",
    );
  });

  test("a test of the notification says what it says", () => {
    expect(textOf(uptimeKuma, { heartbeat: null, monitor: null, msg: "Parley Testing" })).toBe(
      "Parley Testing",
    );
  });

  test("a form holds the same in its field data", async () => {
    const field = 'Content-Disposition: form-data; name="data"\r\n\r\n{"msg":"from a form"}';
    const bytes = new TextEncoder().encode(`--b\r\n${field}\r\n--b--\r\n`);
    const headers = new Headers({ "content-type": "multipart/form-data; boundary=b" });
    const payload = await payloadOf(uptimeKuma, bytes, headers);
    expect(messageIn(uptimeKuma, payload, headers).text).toBe("from a form");
  });
});
