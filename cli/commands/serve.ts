import { type Command, InvalidArgumentError } from "commander";
import { addCommand } from "../invocation/command.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { serveUntilStopped } from "../invocation/serving.ts";
import { wholeNumber } from "../invocation/whole-number.ts";

/** `parley serve`: migrates the data, serves, and shuts down cleanly on a stop signal. */
export function addServe(program: Command, invocation: Invocation): void {
  addCommand(program, "serve", {
    summary: "Run the server until it is stopped",
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
        const { output, options } = invocation;
        // In a journal these lines would stand among the JSON of the log, which has the address as well.
        if (!process.stdout.isTTY && !output.isJson && !options.quiet) return;
        output.done({
          data: { url },
          said: [`Parley is listening at ${url}`, "Stop it with Ctrl-C."],
          brief: url,
        });
      });
    });
}

/** Rejects an empty address, which Bun would bind to every interface. */
function parseHost(text: string): string {
  if (text.trim() === "") throw new InvalidArgumentError("It takes an address of this machine.");
  return text;
}
