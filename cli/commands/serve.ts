import { type Command, InvalidArgumentError } from "commander";
import { addCommand } from "../invocation/command.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { serveUntilStopped } from "../invocation/serving.ts";
import { wholeNumber } from "../invocation/whole-number.ts";

/** `parley serve`: migrates the data, serves, and stops cleanly when it is told to. */
export function addServe(program: Command, invocation: Invocation): void {
  addCommand(program, "serve", {
    summary: "Serve the workspace until it is stopped",
    examples: ["parley serve", "parley serve --host 0.0.0.0 --port 9000"],
  })
    .option("--host <host>", "address to listen on (default: PARLEY_HOST or 127.0.0.1)", parseHost)
    .option(
      "--port <port>",
      "port to listen on, 0 for any (default: PARLEY_PORT or 8080)",
      wholeNumber(0, 65_535),
    )
    .action(async ({ host, port }: { host?: string; port?: number }) => {
      const flags = {
        ...(host !== undefined && { host }),
        ...(port !== undefined && { port: String(port) }),
      };
      await serveUntilStopped(invocation, flags, ({ url }) => {
        invocation.output.done({
          data: { url },
          said: [`Parley is listening at ${url}`, "Stop it with Ctrl-C."],
          brief: url,
        });
      });
    });
}

/** Bun takes an empty address for every network that the machine is in, which nobody means by it. */
function parseHost(text: string): string {
  if (text.trim() === "") throw new InvalidArgumentError("It takes an address of this machine.");
  return text;
}
