import { expect, test } from "bun:test";
import { openPage } from "../support/browser.ts";
import { until } from "../support/conditions.ts";
import { startServer } from "../support/server.ts";
import { openWorkspace } from "../support/workspace.ts";
import { startWebhookStage } from "../support/webhook-stage.ts";

const postIncoming = "#operations-Incoming_webhooks-postIncoming";
const listChannels = "#operations-Channels-listChannels";
const createChannel = "#operations-Channels-createChannel";

test("a browser without internet access shows the documentation, accepts a token and tries an operation with it", async () => {
  await using server = await startServer();
  await using workspace = await openWorkspace(server.dataDir);
  const team = await workspace.team("Acme");
  const { token } = await workspace.token(team.owner, "channels:read");

  await using page = await openPage(`${server.url}/api/v1/docs`);
  const shown = await page.shows("Post through an incoming webhook");
  expect(shown).toContain("Parley API");
  expect(shown).toContain("channel.member_added");

  await page.click("button.authorize");
  await page.type(".auth-container input", token);
  await page.click(".auth-btn-wrapper .authorize");
  await page.click(".auth-btn-wrapper .btn-done");
  await page.click(`${listChannels} .opblock-summary-control`);
  await page.click(`${listChannels} .try-out__btn`);
  await page.click(`${listChannels} .execute`);
  expect(await page.shows(team.general.id)).toContain("Needs the scope channels:read.");

  const elsewhere = page.requested.filter(
    (url) => !url.startsWith(`${server.url}/`) && !url.startsWith("data:"),
  );
  expect(elsewhere).toEqual([]);
  expect(page.complaints).toEqual([]);
}, 60_000);

test("the example of a new channel is accepted each time, and the token is nowhere on the screen", async () => {
  await using server = await startServer();
  await using workspace = await openWorkspace(server.dataDir);
  const team = await workspace.team("Acme");
  const { token } = await workspace.token(team.owner);
  await using page = await openPage(`${server.url}/api/v1/docs`);
  await page.click("button.authorize");
  await page.type(".auth-container input", token);
  expect(await page.value("document.querySelector('.auth-container input').type")).toBe("password");
  await page.click(".auth-btn-wrapper .authorize");
  await page.click(".auth-btn-wrapper .btn-done");

  await page.click(`${createChannel} .opblock-summary-control`);
  await page.click(`${createChannel} .try-out__btn`);
  const names = new Set<unknown>();
  for (const time of ["first", "second", "third"]) {
    await page.click(`${createChannel} .execute`);
    const body = `document.querySelector("${createChannel} .live-responses-table")?.innerText`;
    await until(`the example is answered for the ${time} time`, async () => {
      const [, name] = /"name": "(Releases [^"]+)"/.exec(String(await page.value(body))) ?? [];
      return name !== undefined && !names.has(name) && names.add(name);
    });
    const sent = String(
      await page.value(`document.querySelector("${createChannel} .curl-command").innerText`),
    );
    expect(sent).toContain("Authorization: Bearer <ACCESS_TOKEN>");
  }
  expect(await page.value("document.body.outerHTML")).not.toContain(token);
  expect(page.complaints).toEqual([]);
}, 60_000);

test("on a narrow screen nothing is cut off, and the page follows the colours that its reader prefers", async () => {
  await using server = await startServer();
  await using page = await openPage(`${server.url}/api/v1/docs`);
  await page.look({ width: 390, scheme: "light" });
  await page.click(`${createChannel} .opblock-summary-control`);
  await page.click(`${createChannel} .try-out__btn`);
  await page.click(`${createChannel} .execute`);
  await page.shows("Request URL");
  const overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
  expect(await page.value(overflow)).toBe(0);
  const paper = "getComputedStyle(document.body).backgroundColor";
  expect(await page.value(paper)).toBe("rgb(255, 255, 255)");
  await page.look({ width: 390, scheme: "dark" });
  await until("the page is dark", async () => (await page.value(paper)) === "rgb(28, 32, 34)");
  // Nobody has given a token.
  expect(page.complaints).toEqual([expect.stringContaining("401")]);
}, 60_000);

test("the page sends the example of an incoming webhook in each encoding that it offers, twice", async () => {
  await using stage = await startWebhookStage();
  const channel = await stage.channel();
  const { token } = await stage.incoming(channel);
  await using page = await openPage(`${stage.server.url}/api/v1/docs`);
  await page.click(`${postIncoming} .opblock-summary-control`);
  await page.click(`${postIncoming} .try-out__btn`);
  await page.type(`${postIncoming} [data-param-name=token] input`, token);

  for (const type of ["application/json", "application/x-www-form-urlencoded", "multipart/form-data"]) {
    await page.choose(`${postIncoming} .body-param-content-type select`, type);
    for (const time of ["first", "second"]) {
      await page.click(`${postIncoming} .execute`);
      const answer = `document.querySelector("${postIncoming} .live-responses-table .response .response-col_status")`;
      const status = await until(`${type} is answered for the ${time} time`, () =>
        page.value(`${answer}?.innerText`),
      );
      expect(String(status), type).toStartWith("202");
      await page.click(`${postIncoming} .btn-clear`);
    }
  }
  const messages = await stage.messages(channel);
  expect(messages).toHaveLength(6);
  for (const message of messages) {
    expect(message).toMatchObject({ body: "Version 4.2.0 is live.", username: "Release bot" });
  }
  expect(page.complaints).toEqual([]);
}, 60_000);
