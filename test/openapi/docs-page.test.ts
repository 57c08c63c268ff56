import { expect, test } from "bun:test";
import { openPage } from "../support/browser.ts";
import { startServer } from "../support/server.ts";
import { openWorkspace } from "../support/workspace.ts";

const listChannels = "#operations-Channels-listChannels";

test("a browser without the internet shows the documentation, takes a token and tries an operation with it", async () => {
  await using server = await startServer();
  await using workspace = openWorkspace(server.dataDir);
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
}, 20_000);
