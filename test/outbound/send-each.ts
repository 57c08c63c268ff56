import { send } from "../../src/outbound/send.ts";

// A program that sends one delivery for each argument, a JSON object, and prints each outcome as a line of JSON.
for (const argument of process.argv.slice(2)) {
  const { url, address, ca } = JSON.parse(argument) as { url: string; address: string; ca?: string };
  const post = { url: new URL(url), addresses: [address], body: "{}", headers: {}, timeoutMs: 2_000, ca };
  process.stdout.write(`${JSON.stringify(await send(post))}\n`);
}
