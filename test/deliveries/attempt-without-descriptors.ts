import { openSync, writeSync } from "node:fs";
import { attempt } from "../../src/deliveries/attempt.ts";
import { prepare } from "../../src/deliveries/prepare.ts";

// Makes one attempt while no descriptor is left, and prints how it ended. What Bun starts late is started before.
const outgoing = { guard: { blockPrivate: false }, timeoutMs: 5_000 };
const request = prepare(
  { id: "1", type: "ping", envelope: "{}" },
  { secrets: ["whsec_test"], headers: {} },
  Date.now(),
);
await attempt(outgoing, "http://127.0.0.1:1/", request);
try {
  while (true) openSync("/dev/null", "r");
} catch {
  // Now there is none.
}
writeSync(1, JSON.stringify(await attempt(outgoing, process.argv[2] ?? "", request)));
process.exit();
