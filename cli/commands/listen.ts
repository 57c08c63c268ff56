import { type Command, Option } from "commander";
import {
  type SignatureVerdict,
  verifyDeliverySignature,
  verifyStandardSignature,
} from "../../src/deliveries/signature.ts";
import { DomainError } from "../../src/errors.ts";
import { type WebhookEvent, webhookEvents } from "../../src/event-types.ts";
import { hasCode } from "../../src/system/error-code.ts";
import { addCommand } from "../invocation/command.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { stopSignal } from "../invocation/stop-signal.ts";
import { wholeNumber } from "../invocation/whole-number.ts";
import { prettyLines } from "../terminal/pretty-json.ts";
import { forward } from "./listen-forwarding.ts";

type ListenOptions = {
  port: number;
  secret?: string | undefined;
  status: number;
  forwardTo?: string;
  event?: WebhookEvent[];
  channel?: string[];
};

/** In bytes; a delivery is far smaller. */
const bodyBytesMax = 1024 * 1024;

/** `parley listen`: a local receiver to develop against. */
export function addListen(program: Command, invocation: Invocation): void {
  addCommand(program, "listen", {
    summary: "Receive, verify and print deliveries on this machine until Ctrl-C",
    examples: [
      "PARLEY_LISTEN_SECRET=whsec_… parley listen --port 9000",
      "parley listen --secret -",
      "parley listen --status 500",
      "parley listen --forward-to http://localhost:3000/hooks --event message.created",
    ],
  })
    .option("--port <port>", "port to listen on, 0 for any free one", wholeNumber(0, 65_535), 9000)
    .option(
      "--secret <secret>",
      "the signing secret, or - for a prompt or standard input; other users of this machine can see it in ps, " +
        "unlike PARLEY_LISTEN_SECRET",
    )
    .option(
      "--status <status>",
      "response status; a wrong signature gets 401 if there is a secret",
      wholeNumber(200, 599),
      200,
    )
    .addOption(
      new Option(
        "--forward-to <url>",
        "subscribe meanwhile, and send each event of this data folder's team there, signed",
      ).conflicts(["port", "status"]),
    )
    .addOption(
      new Option("--event <event...>", "event to forward; repeatable (default: all)").choices(webhookEvents),
    )
    .option("--channel <channel...>", "forward only events of this channel; repeatable (default: all)")
    .action(async (given: ListenOptions) => {
      const { forwardTo } = given;
      if (forwardTo === undefined && (given.event ?? given.channel))
        throw new DomainError("usage", "--event and --channel go with --forward-to.");
      const secret = await secretOf(invocation, given);
      const options = { ...given, secret };
      const stopped = stopSignal();
      if (forwardTo !== undefined) return await forward(invocation, { ...options, forwardTo }, stopped);
      const server = serve(invocation, options);
      const url = `http://localhost:${server.port}/`;
      invocation.output.done({
        data: { url },
        said: [
          `Listening at ${url}, returning ${options.status}. Stop it with Ctrl-C.`,
          ...(options.secret === undefined ? subscribingHint(url) : []),
        ],
        brief: url,
      });
      await stopped;
      await server.stop(true);
    });
}

/** @throws what `Prompts.secret` throws, for `--secret -`. */
async function secretOf(
  { environment, prompts }: Invocation,
  given: ListenOptions,
): Promise<string | undefined> {
  if (given.secret !== "-") return given.secret ?? (environment.PARLEY_LISTEN_SECRET || undefined);
  return await prompts.secret({ question: "What is the signing secret?", option: "--secret" });
}

/** @throws DomainError `conflict` when the port is taken. */
function serve(invocation: Invocation, options: ListenOptions): Bun.Server<undefined> {
  try {
    return Bun.serve({
      hostname: "127.0.0.1",
      port: options.port,
      maxRequestBodySize: bodyBytesMax,
      fetch: async (request) => await receive(invocation, options, request),
    });
  } catch (error) {
    if (!hasCode(error, "EADDRINUSE")) throw error;
    throw new DomainError(
      "conflict",
      `Port ${options.port} is taken. Choose another with --port N; 0 picks any free port.`,
    );
  }
}

/** How to get deliveries sent here. The server must be started with the same setting. */
function subscribingHint(url: string): string[] {
  return [
    "Signatures are not verified without PARLEY_LISTEN_SECRET. This creates a secret:",
    "",
    "  export WEBHOOKS_BLOCK_PRIVATE_URLS=false",
    "  parley webhooks create --name Local --event message.created \\",
    `    --url ${url}`,
    "",
    "The server needs the same setting to deliver to this machine. To try a receiver",
    "of your own with any server: parley listen --forward-to URL",
    "",
  ];
}

async function receive({ output }: Invocation, options: ListenOptions, request: Request): Promise<Response> {
  const body = await request.bytes();
  const { headers } = request;
  const { secret } = options;
  const now = Date.now() / 1000;
  const verdicts =
    secret === undefined
      ? []
      : [
          verifyDeliverySignature(headers.get("x-service-signature"), body, secret, now),
          verifyStandardSignature(headers, body, secret, now),
        ];
  const [signature, standardSignature] = verdicts;
  const isRefused = verdicts.some(({ ok }) => !ok);
  const received = {
    event: headers.get("x-service-event"),
    delivery: headers.get("x-service-delivery"),
    signature: inWords(signature),
    standard_signature: inWords(standardSignature),
    body: new TextDecoder().decode(body),
  };
  // Standard output holds one document, the URL, as with `serve`; deliveries go to the log.
  if (output.isJson) output.log(received);
  else {
    output.line(
      `${new Date().toLocaleTimeString("en-GB")}  ${received.event ?? request.method}  ${received.delivery ?? ""}`,
    );
    output.line(`  signature: ${received.signature}`);
    if (secret !== undefined) output.line(`  webhook-signature: ${received.standard_signature}`);
    for (const line of prettyLines(received.body)) output.line(`  ${line}`);
  }
  // As a receiver should, so that whoever tries a sender sees it refused.
  return new Response(null, { status: isRefused ? 401 : options.status });
}

function inWords(verdict: SignatureVerdict | undefined): string {
  if (verdict === undefined) return "not verified, no secret given";
  return verdict.ok ? "valid" : `refused, ${verdict.reason}`;
}
