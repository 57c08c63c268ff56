import { webhookEvents } from "../event-types.ts";
import { exampleIds, exampleSecret } from "./examples.ts";
import { type RetrySettings, retryPicture } from "./retry-picture.ts";
import { sampleOf } from "./webhooks.ts";

/**
 * Returns the page for those who build a receiver: it checks a signature in the browser, shows a sample of each event,
 * and draws the retries as the settings have them. Its files are next to it, under `/api/v1/docs/`.
 */
export function webhooksPage(settings: RetrySettings & { webhooksDisableAfter: number }): string {
  const samples = Object.fromEntries(webhookEvents.map((event) => [event, sampleOf(event).envelope]));
  const [type] = webhookEvents;
  const sampleDelivery = {
    id: exampleIds.event,
    type,
    envelope: JSON.stringify(samples[type]),
    secret: exampleSecret,
  };
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Parley webhooks</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="webhooks.css">
  </head>
  <body>
    <main>
      <h1>Webhooks</h1>
      <p><a href="../docs">The API</a> has the operations that create and list subscriptions. This page is for those who
        receive their events.</p>
      <h2>Check a signature</h2>
      <p>Everything is computed in this page. What you paste stays in your browser: the page's policy forbids it every
        connection.</p>
      <noscript>The check needs JavaScript.</noscript>
      <form id="form" autocomplete="off">
        <label for="headers">Headers of the request</label>
        <textarea id="headers" rows="7" spellcheck="false" placeholder="X-Service-Signature: t=…,v1=…"></textarea>
        <label for="body">Body, as it arrived</label>
        <textarea id="body" rows="7" spellcheck="false" placeholder="{&quot;id&quot;:…}"></textarea>
        <label for="file">or a file with its bytes, if it has line breaks</label>
        <input id="file" type="file">
        <label for="secret">Signing secret of the subscription</label>
        <input id="secret" type="password" spellcheck="false" autocomplete="off" placeholder="whsec_…">
        <label class="choice"><input id="show-secret" type="checkbox"> Show the secret</label>
        <p class="buttons"><button id="fill" type="button">Fill in a sample</button> <button type="reset">Clear</button></p>
      </form>
      <div id="result" role="status"></div>
      <h2>Events</h2>
      ${webhookEvents.map(eventSection).join("\n      ")}
      <h2>Retries</h2>
      <p>Every status from 200 to 299 is a success. After anything else, this server tries the event again:</p>
      ${retryPicture(settings)}
      <p>After ${settings.webhooksDisableAfter.toLocaleString("en")} failures in a row, of whichever events, it disables the
        subscription; its events wait until it is enabled again.</p>
    </main>
    <script type="application/json" id="samples">${inScript({ sampleDelivery, samples })}</script>
    <script type="module" src="webhooks.js"></script>
  </body>
</html>
`;
}

function eventSection(event: (typeof webhookEvents)[number]): string {
  const { firesWhen, envelope } = sampleOf(event);
  const body = Bun.escapeHTML(JSON.stringify(envelope, null, 2));
  return `<details><summary><code>${event}</code> ${firesWhen}</summary><pre>${body}</pre></details>`;
}

/** JSON that cannot end the script element it is in. */
function inScript(value: object): string {
  return JSON.stringify(value).replaceAll("<", "\\u003c");
}
