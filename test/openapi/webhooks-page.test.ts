import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { deliverySignature } from "../../src/deliveries/signature.ts";
import { newSecret } from "../../src/secrets/secret-text.ts";
import { type BrowserPage, openPage } from "../support/browser.ts";
import { until } from "../support/conditions.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { startWebhookStage } from "../support/webhook-stage.ts";
import { delivery, linesOf, type SignedRequest } from "./signed-delivery.ts";

let server: TestServer;
let page: BrowserPage;
beforeAll(async () => {
  server = await startServer({ environment: { WEBHOOKS_MAX_ATTEMPTS: "3", WEBHOOKS_BACKOFF_BASE: "20" } });
  page = await openPage(`${server.url}/api/v1/docs/webhooks`);
  await isReady(page);
}, 60_000);
afterAll(async () => {
  await page[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

/** What the page says about both signatures once this is pasted into it. */
async function verdicts(
  { headers, body, secret }: SignedRequest,
  pasted = linesOf(headers),
): Promise<string[]> {
  const values = { headers: pasted, body, secret };
  await page.value(`for (const [id, value] of Object.entries(${JSON.stringify(values)})) {
    document.getElementById(id).value = value;
  }
  document.getElementById("secret").dispatchEvent(new Event("input"))`);
  return await shownVerdicts(page);
}

async function shownVerdicts(shownOn: BrowserPage): Promise<string[]> {
  const texts = `[...document.querySelectorAll("#result article")].map(({ innerText }) => innerText)`;
  return (await shownOn.value(texts)) as string[];
}

async function isReady(opened: BrowserPage): Promise<void> {
  await until("the page's script runs", async () => {
    await opened.click("#fill");
    return (await shownVerdicts(opened)).length === 2;
  });
}

test("a real delivery matches in both schemes, whatever the headers were copied from", async () => {
  await using stage = await startWebhookStage();
  await using listener = await stage.listen();
  await stage.post(await stage.channel(), "naïve <b>&amp; “quoted”</b> \u{1f389}");
  const received = await listener.receiver.nth(1);
  const headers = Object.fromEntries(received.headers);
  const given = {
    headers,
    body: new TextDecoder().decode(received.body),
    secret: listener.subscription.secret,
  };
  const copies = [linesOf(headers), JSON.stringify(headers), Bun.inspect(headers), `> ${linesOf(headers)}`];
  for (const pasted of copies) {
    const [service, standard] = await verdicts(given, pasted);
    expect(service).toStartWith("X-Service-Signature\nmatches\n");
    expect(standard).toStartWith("webhook-signature (Standard Webhooks)\nmatches\n");
  }

  const sorted = (value: unknown): unknown =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(
          Object.entries(value)
            .toSorted(([a], [b]) => (a < b ? -1 : 1))
            .map(([name, of]) => [name, sorted(of)]),
        )
      : value;
  for (const verdict of await verdicts({ ...given, body: JSON.stringify(sorted(JSON.parse(given.body))) })) {
    expect(verdict).toContain("does not match");
    expect(verdict).toContain("the order of its fields changed");
  }
}, 60_000);

test("a delivery of any length is hashed right", async () => {
  for (let length = 0; length < 140; length += 3) {
    for (const verdict of await verdicts(delivery(0, "x".repeat(length))))
      expect(verdict).toContain("matches");
  }
});

test("during a rotation one of two signatures is enough", async () => {
  const given = delivery();
  const other = deliverySignature([newSecret("whsec_")], 1, "").replace("t=1", "");
  given.headers["X-Service-Signature"] += other;
  given.headers["webhook-signature"] = `v1,${"A".repeat(43)}= ${given.headers["webhook-signature"]}`;
  for (const verdict of await verdicts(given)) expect(verdict).toContain("\nmatches\n");
});

describe("the page names the reason when", () => {
  type Change = (given: SignedRequest) => SignedRequest;
  const body =
    (change: (body: string) => string): Change =>
    (given) => ({ ...given, body: change(given.body) });
  const secretAs =
    (change: (secret: string) => string): Change =>
    (given) => ({ ...given, secret: change(given.secret) });
  const header =
    (name: string, change: (value: string) => string): Change =>
    (given) => ({ ...given, headers: { ...given.headers, [name]: change(given.headers[name] ?? "") } });
  const service = (change: (value: string) => string) => header("X-Service-Signature", change);
  const standard = (change: (value: string) => string) => header("webhook-signature", change);
  const hexToBase64 = (hex: string) => Buffer.from(hex, "hex").toString("base64");

  const ofBoth: Array<[what: string, change: Change, reason: string]> = [
    ["the body ends with a newline", body((text) => `${text}\n`), "white space at its end"],
    [
      "the body was printed with spaces",
      body((text) => JSON.stringify(JSON.parse(text), null, 2)),
      "line breaks",
    ],
    ["letters were escaped", body((text) => text.replace("ë", "\\u00eb")), "escapes changed"],
    ["the body is empty", body(() => ""), "The body is empty"],
    ["the body was cut off", body((text) => text.slice(0, 40)), "The body is not JSON"],
    [
      "a word of the body changed",
      body((text) => text.replace("human", "robot")),
      "not what was sent, byte for byte",
    ],
    [
      "the body is another delivery's",
      body((text) => text.replaceAll("01a1", "01a2")),
      "another id than the headers",
    ],
    ["the secret is another", secretAs(() => newSecret("whsec_")), "The secret is another one"],
    ["the secret has a newline", secretAs((text) => ` ${text} `), "white space around it"],
    ["the secret is quoted", secretAs((text) => `"${text}"`), "in quotation marks"],
    [
      "a letter of the secret is wrong",
      secretAs((text) => `${text.slice(0, 20)}${text[20] === "a" ? "b" : "a"}${text.slice(21)}`),
      "its checksum is wrong",
    ],
    ["the secret is missing", secretAs(() => ""), "The secret is missing"],
    [
      "both the secret and the body were changed",
      (given) => ({ ...given, secret: `${given.secret} `, body: `${given.body}\n` }),
      "white space around it",
    ],
  ];
  test.each(ofBoth)("%s", async (_, change, reason) => {
    for (const verdict of await verdicts(change(delivery()))) {
      expect(verdict).toContain("does not match");
      expect(verdict).toContain(reason);
    }
  });

  const ofService: Array<[what: string, change: Change, reason: string]> = [
    [
      "the digest is in base64",
      service((value) => value.replace(/[0-9a-f]{64}/, hexToBase64)),
      "written in base64",
    ],
    [
      "the digest is in capitals",
      service((value) => value.replace(/[0-9a-f]{64}/, (hex) => hex.toUpperCase())),
      "capital letters",
    ],
    ["the digest was cut off", service((value) => value.slice(0, -4)), "has 60"],
    ["the time is missing", service((value) => value.replace(/t=\d+,/, "")), "has no t="],
    [
      "the time was turned to milliseconds",
      service((value) => value.replace(/t=(\d+)/, "t=$1000")),
      "milliseconds",
    ],
    ["the digest is missing", service((value) => value.replace(/,v1=.*/, "")), "has no v1="],
    [
      "only this header was changed",
      service((value) => value.replace(/t=\d+/, "t=1795195440")),
      "this header itself was changed",
    ],
    ["the secret lacks its prefix", secretAs((text) => text.slice("whsec_".length)), "lacks its beginning"],
  ];
  test.each(ofService)("%s, for X-Service-Signature", async (_, change, reason) => {
    const [verdict] = await verdicts(change(delivery()));
    expect(verdict).toContain("does not match");
    expect(verdict).toContain(reason);
  });

  const ofStandard: Array<[what: string, change: Change, reason: string]> = [
    [
      "the digest is in hex",
      standard((value) => `v1,${Buffer.from(value.slice(3), "base64").toString("hex")}`),
      "written in hex",
    ],
    ["its padding was cut off", standard((value) => value.slice(0, -1)), "the = at its end"],
    ["there is no v1", standard((value) => value.slice(3)), "begins with v1,"],
    ["the time is no number", header("webhook-timestamp", () => "yesterday"), "whole number of seconds"],
    ["the secret is no base64", secretAs(() => "whsec_!"), "not base64"],
  ];
  test.each(ofStandard)("%s, for webhook-signature", async (_, change, reason) => {
    const [, verdict] = await verdicts(change(delivery()));
    expect(verdict).toContain("does not match");
    expect(verdict).toContain(reason);
  });

  test("the delivery is old, or from the future", async () => {
    for (const verdict of await verdicts(delivery(7_300))) {
      expect(verdict).toContain("matches, but its time is off");
      expect(verdict).toContain("signed 2 hours ago");
    }
    for (const verdict of await verdicts(delivery(-600)))
      expect(verdict).toContain("ahead of this machine's clock");
  });

  test("headers are missing", async () => {
    const { headers, ...rest } = delivery();
    const { "X-Service-Signature": _, "webhook-id": __, ...left } = headers;
    const [service, standard] = await verdicts({ ...rest, headers: { ...left, "X-Signature-256": "00" } });
    expect(service).toContain("The header X-Service-Signature is missing");
    expect(service).toContain("belongs to incoming webhooks");
    expect(standard).toContain("The header webhook-id is missing");
  });
});

test("the sample that the page fills in matches, and the secret is hidden until it is asked for", async () => {
  await page.click("#fill");
  for (const verdict of await shownVerdicts(page)) expect(verdict).toContain("\nmatches\n");
  expect(await page.value("document.getElementById('secret').type")).toBe("password");
  await page.click("#show-secret");
  expect(await page.value("document.getElementById('secret').type")).toBe("text");
  await page.click("button[type=reset]");
  await until("the verdicts are gone", async () => (await shownVerdicts(page)).length === 0);
});

test("a body with line breaks of Windows is taken from a file, byte for byte", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "body");
  const given = delivery(0, '{\r\n"id": 1}\r\n');
  writeFileSync(path, given.body);
  for (const verdict of await verdicts(given)) expect(verdict).toContain("does not match");
  const { root } = (await page.call("DOM.getDocument")) as { root: { nodeId: number } };
  const { nodeId } = await page.call("DOM.querySelector", { nodeId: root.nodeId, selector: "#file" });
  await page.call("DOM.setFileInputFiles", { nodeId, files: [path] });
  await until("the file is read", async () =>
    (await shownVerdicts(page)).every((verdict) => verdict.includes("\nmatches\n")),
  );
  await page.click("button[type=reset]");
});

test("the page shows each event and the retries as the settings have them", async () => {
  await page.value("for (const details of document.querySelectorAll('details')) details.open = true");
  const shown = await page.shows("channel.member_added");
  expect(shown).toContain('"type": "message.deleted"');
  const picture = String(await page.value("document.querySelector('svg').textContent"));
  expect(picture).toContain("20 s later");
  expect(picture).toContain("2 min later");
  expect(picture).toContain("2 min 20 s in all");
  expect(await page.value("document.querySelectorAll('svg circle').length")).toBe(3);
});

test.each([
  ["wide", 1280, "light"],
  ["wide", 1280, "dark"],
  ["narrow", 390, "light"],
  ["narrow", 390, "dark"],
])("on a %s screen of %d pixels in %s colours nothing is cut off", async (_, width, scheme) => {
  await page.look({ width, scheme });
  await verdicts(delivery(7_300));
  const overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
  expect(await page.value(overflow)).toBe(0);
  const [paper, ink] = (await page.value(
    "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]",
  )) as string[];
  expect([paper, ink]).toEqual(
    scheme === "dark" ? ["rgb(20, 24, 31)", "rgb(229, 233, 240)"] : ["rgb(255, 255, 255)", "rgb(29, 36, 48)"],
  );
});

test("nothing is requested from elsewhere, the browser complains about nothing, and its policy allows no connection", async () => {
  const elsewhere = page.requested.filter(
    (url) => !url.startsWith(`${server.url}/`) && !url.startsWith("data:"),
  );
  expect(elsewhere).toEqual([]);
  expect(page.complaints).toEqual([]);
  const response = await fetch(`${server.url}/api/v1/docs/webhooks`);
  expect(response.headers.get("content-security-policy")).toContain("connect-src 'none'");
});
