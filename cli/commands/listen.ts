import type { Command } from "commander";
import { verifyDeliverySignature } from "../../src/deliveries/signature.ts";
import { addCommand } from "../command.ts";
import type { Invocation } from "../invocation.ts";
import { stopSignal } from "../stop-signal.ts";
import { wholeNumber } from "../whole-number.ts";

type ListenOptions = { port: number; secret?: string; status: number };

/** A delivery is far smaller; what is larger is not one of ours. */
const bodyBytesMax = 1024 * 1024;

/** `parley listen`: a receiver on this machine, for those who build one. */
export function addListen(program: Command, invocation: Invocation): void {
  addCommand(program, "listen", {
    summary: "Receive deliveries on this machine, verify them and print them, until Ctrl-C",
    examples: ["parley listen --port 9000 --secret whsec_…", "parley listen --status 500"],
  })
    .option("--port <port>", "port to listen on, 0 for any free one", wholeNumber(0, 65_535), 9000)
    .option("--secret <secret>", "the signing secret; without it, signatures are not verified")
    .option("--status <status>", "what to answer", wholeNumber(200, 599), 200)
    .action(async (options: ListenOptions) => {
      const stopped = stopSignal();
      const server = Bun.serve({
        hostname: "127.0.0.1",
        port: options.port,
        maxRequestBodySize: bodyBytesMax,
        fetch: async (request) => await receive(invocation, options, request),
      });
      const url = `http://localhost:${server.port}/`;
      invocation.output.done({
        data: { url },
        said: [
          `Listening at ${url}; every request is answered ${options.status}. Stop it with Ctrl-C.`,
          "Deliveries to this machine need WEBHOOKS_BLOCK_PRIVATE_URLS=false, for the server and for this:",
          "",
          `  parley webhooks create --name Local --url ${url} --event message.created`,
          "",
        ],
        brief: url,
      });
      await stopped;
      await server.stop(true);
    });
}

async function receive({ output }: Invocation, options: ListenOptions, request: Request): Promise<Response> {
  const body = await request.bytes();
  const received = {
    event: request.headers.get("x-service-event"),
    delivery: request.headers.get("x-service-delivery"),
    signature: verdict(options.secret, request.headers.get("x-service-signature"), body),
    body: new TextDecoder().decode(body),
  };
  if (output.isJson) output.json(received);
  else {
    output.line(`${new Date().toISOString()} ${received.event ?? request.method} ${received.delivery ?? ""}`);
    output.line(`  signature ${received.signature}`);
    for (const line of pretty(received.body)) output.line(`  ${line}`);
  }
  return new Response(null, { status: options.status });
}

function verdict(secret: string | undefined, header: string | null, body: Uint8Array): string {
  if (secret === undefined) return "not verified: no --secret given";
  const verified = verifyDeliverySignature(header, body, secret, Date.now() / 1000);
  return verified.ok ? "valid" : `refused: ${verified.reason}`;
}

function pretty(body: string): string[] {
  try {
    return JSON.stringify(JSON.parse(body), null, 2).split("\n");
  } catch {
    return [body];
  }
}
