// Runs in the browser: the form of the page about webhooks.
import { checkSignatures } from "./check-signature.js";
import { hmacSha256 } from "./hmac-sha256.js";

const byId = (id) => document.getElementById(id);
const { sampleDelivery, samples } = JSON.parse(byId("samples").textContent);
const [headers, body, file, secret, result] = ["headers", "body", "file", "secret", "result"].map(byId);

/** The bytes of the chosen file, which replace the text: a text field changes line ends. */
let bodyOfFile;

for (const field of [headers, body, secret]) field.addEventListener("input", check);
file.addEventListener("change", () => void readFile());
byId("show-secret").addEventListener("change", ({ target }) => {
  secret.type = target.checked ? "text" : "password";
});
byId("fill").addEventListener("click", fillInSample);
byId("form").addEventListener("reset", () => {
  bodyOfFile = undefined;
  body.disabled = false;
  secret.type = "password";
  // The fields are empty only after the event.
  setTimeout(check);
});
check();

function check() {
  const isEmpty = [headers, body, secret].every(({ value }) => value === "") && bodyOfFile === undefined;
  if (isEmpty) return result.replaceChildren();
  const verdicts = checkSignatures({
    headers: headersIn(headers.value),
    body: bodyOfFile ?? new TextEncoder().encode(body.value),
    secret: secret.value,
    now: Date.now() / 1000,
    samples,
  });
  result.replaceChildren(
    shown("X-Service-Signature", verdicts.service),
    shown("webhook-signature (Standard Webhooks)", verdicts.standardWebhooks),
  );
}

async function readFile() {
  const [chosen] = file.files;
  bodyOfFile = chosen && new Uint8Array(await chosen.arrayBuffer());
  body.disabled = bodyOfFile !== undefined;
  check();
}

/** Headers as lines, as JSON, or as a program prints an object; names in lower case. */
function headersIn(text) {
  const found = new Map();
  const add = (name, value) => found.set(name.toLowerCase(), String(value).trim());
  try {
    for (const [name, value] of Object.entries(JSON.parse(text))) add(name, value);
    return found;
  } catch {
    for (const line of text.split("\n")) {
      const [, name, value] = /^[\s>"']*([\w-]+)["']?\s*:\s*["']?(.*?)["']?,?\s*$/.exec(line) ?? [];
      if (name !== undefined) add(name, value);
    }
    return found;
  }
}

const titles = {
  matches: "matches",
  stale: "matches, but its time is off",
  refused: "does not match",
  missing: "missing",
};

function shown(name, { outcome, reasons, expected }) {
  const verdict = element("strong", titles[outcome]);
  const article = element("article");
  article.className = outcome;
  article.append(element("h3", name), verdict);
  if (reasons.length > 0) {
    const list = element("ul");
    list.append(...reasons.map((reason) => element("li", reason)));
    article.append(list);
  }
  if (expected !== undefined)
    article.append(element("p", "Computed from these headers, body and secret:"), element("code", expected));
  return article;
}

function element(name, text = "") {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

/** Puts in a delivery that is signed now, in this page, with a made-up secret. */
function fillInSample() {
  byId("form").reset();
  const { id, type, envelope, secret: madeUp } = sampleDelivery;
  const time = Math.floor(Date.now() / 1000);
  const bytes = (text) => new TextEncoder().encode(text);
  const hex = [...hmacSha256(bytes(madeUp), bytes(`${time}.${envelope}`))]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");
  const key = Uint8Array.from(atob(madeUp.slice("whsec_".length)), (character) => character.charCodeAt(0));
  const digest = hmacSha256(key, bytes(`${id}.${time}.${envelope}`));
  headers.value = [
    "Content-Type: application/json",
    `X-Service-Event: ${type}`,
    `X-Service-Delivery: ${id}`,
    `X-Service-Signature: t=${time},v1=${hex}`,
    `webhook-id: ${id}`,
    `webhook-timestamp: ${time}`,
    `webhook-signature: v1,${btoa(String.fromCharCode(...digest))}`,
  ].join("\n");
  body.value = envelope;
  secret.value = madeUp;
  check();
}
