import { expect, test } from "bun:test";
import { deliverySignature, standardSignature } from "../../src/deliveries/signature.ts";
import { keys, onTerminal, runRefused, startServing } from "../support/cli.ts";

const secret = "whsec_of_the_test";

/** Sends what looks like a delivery, signed with the secret or not at all, and returns the status of the answer. */
async function deliver(url: string, body: string, signedWith?: string): Promise<number> {
  const now = Math.floor(Date.now() / 1000);
  const signature = deliverySignature([signedWith ?? ""], now, body);
  const headers = {
    "x-service-event": "message.created",
    "x-service-delivery": "0199e7a4-5c1b-7e2a-9d3f-6b8a1c2d4e5f",
    ...(signedWith !== undefined && {
      "x-service-signature": signature,
      "webhook-id": "0199e7a4",
      "webhook-timestamp": `${now}`,
      "webhook-signature": standardSignature([signedWith], "0199e7a4", now, body),
    }),
  };
  return (await fetch(url, { method: "POST", body, headers })).status;
}

test("listen prints each request and whether its signature is valid, refuses it if not, and exits with 0 on Ctrl-C", async () => {
  await using screen = onTerminal("/nonexistent", ["listen", "--port", "0", "--secret", secret]);
  await screen.shows("Listening at http://localhost:");
  await screen.shows("Stop it with Ctrl-C.");
  const [url = ""] = /http:\/\/localhost:\d+\//.exec(screen.text) ?? [];

  expect(await deliver(url, '{"data":{"body":"hi \\u001b[31m"}}', secret)).toBe(200);
  await screen.shows("message.created  0199e7a4-5c1b-7e2a-9d3f-6b8a1c2d4e5f");
  await screen.shows("  signature: valid");
  await screen.shows("  webhook-signature: valid");
  await screen.shows('    "body": "hi \\u001b[31m"');
  expect(await deliver(url, "no JSON \u001b[31m", "whsec_of_another")).toBe(401);
  await screen.shows("  signature: refused, mismatch");
  await screen.shows("  webhook-signature: refused, mismatch");
  await screen.shows("no JSON \\u{1b}[31m");
  expect(await deliver(url, "{}")).toBe(401);
  await screen.shows("  signature: refused, missing");
  await screen.shows("  webhook-signature: refused, missing");
  for (const line of screen.text.split("\n")) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(80);
  screen.type(keys.interrupt);
  expect(await screen.ended()).toBe(0);
});

test("listen takes the secret from the environment, where ps does not show it", async () => {
  const environment = { PARLEY_LISTEN_SECRET: secret };
  await using screen = onTerminal("/nonexistent", ["listen", "--port", "0"], environment);
  await screen.shows("Stop it with Ctrl-C.");
  const [url = ""] = /http:\/\/localhost:\d+\//.exec(screen.text) ?? [];
  expect(await deliver(url, "{}", secret)).toBe(200);
  await screen.shows("  signature: valid");
  expect(await deliver(url, "{}", "whsec_of_another")).toBe(401);
  await screen.shows("  signature: refused, mismatch");
  screen.type(keys.interrupt);
  expect(await screen.ended()).toBe(0);
});

test("listen asks for the secret on a terminal without echoing it", async () => {
  await using screen = onTerminal("/nonexistent", ["listen", "--port", "0", "--secret", "-"]);
  await screen.shows("What is the signing secret?");
  screen.type(`${secret}${keys.enter}`);
  await screen.shows("Stop it with Ctrl-C.");
  expect(screen.raw).not.toContain(secret.slice(0, 3));
  const [url = ""] = /http:\/\/localhost:\d+\//.exec(screen.text) ?? [];
  expect(await deliver(url, "{}", secret)).toBe(200);
  await screen.shows("  signature: valid");
  screen.type(keys.interrupt);
  expect(await screen.ended()).toBe(0);
});

test("listen reads the secret from a pipe, and fails if that is empty", async () => {
  const listen = ["listen", "--port", "0", "--secret", "-"];
  const piped = async (text: string, answer: number) => {
    await using listening = startServing("/nonexistent", listen, {}, new Blob([text]));
    const [url = ""] = /http:\/\/localhost:\d+\//.exec(await listening.firstLine()) ?? [];
    expect(await deliver(url, "{}", secret)).toBe(answer);
    return (await listening.stop()).rest;
  };
  expect(await piped(`${secret}\n`, 200)).toContain("  signature: valid");
  expect(await piped("whsec_of_another", 401)).toContain("  signature: refused, mismatch");
  const { status, message } = await runRefused("/nonexistent", listen);
  expect({ status, message }).toEqual({
    status: 2,
    message: "What is the signing secret? --secret is missing.",
  });
});

test("listen returns the given status, and without a secret says how to get one", async () => {
  await using screen = onTerminal("/nonexistent", ["listen", "--port", "0", "--status", "503"]);
  await screen.shows("parley webhooks create --name Local");
  await screen.shows("needs the same setting");
  const [url = ""] = /http:\/\/localhost:\d+\//.exec(screen.text) ?? [];
  expect(await deliver(url, "{}", secret)).toBe(503);
  await screen.shows("signature: not verified");
  for (const line of screen.text.split("\n")) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(80);
  screen.type(keys.interrupt);
  expect(await screen.ended()).toBe(0);
});

test("listen --json prints its URL in one JSON document, and exits with 0 on SIGTERM", async () => {
  await using listening = startServing("/nonexistent", ["listen", "--port", "0", "--json"]);
  const { data } = JSON.parse(await listening.firstLine()) as { data: { url: string } };
  expect(await deliver(data.url, "{}")).toBe(200);
  const { port } = new URL(data.url);
  const taken = await runRefused("/nonexistent", ["listen", "--port", port]);
  expect(taken).toEqual({
    status: 1,
    message: expect.stringContaining(`Port ${port} is taken`) as unknown as string,
  });
  expect(await listening.stop()).toEqual({ status: 0, rest: "" });
});
