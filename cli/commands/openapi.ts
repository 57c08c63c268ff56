import { writeFileSync } from "node:fs";
import type { Command } from "commander";
import { invalid } from "../../src/errors.ts";
import { addCommand } from "../invocation/command.ts";
import type { Invocation } from "../invocation/invocation.ts";

/** `parley openapi`: the OpenAPI document of the REST API. */
export function addOpenApi(program: Command, invocation: Invocation): void {
  addCommand(program, "openapi", {
    summary: "Print the OpenAPI 3.1 document of the REST API or write it to a file",
    examples: ["parley openapi --out openapi.json"],
  })
    .option("--out <file>", "the file to write")
    .action(async (options: { out?: string }) => {
      // The routes take longer to load than a small command takes to run.
      const { openApiDocument } = await import("../../src/openapi/openapi.ts");
      const document = await openApiDocument();
      const { output } = invocation;
      if (options.out === undefined) {
        if (output.isJson) output.json(document);
        else process.stdout.write(`${JSON.stringify(document, null, 2)}\n`);
        return;
      }
      write(options.out, `${JSON.stringify(document, null, 2)}\n`);
      output.done({
        data: { out: options.out },
        said: `Wrote the OpenAPI document to ${options.out}.`,
        brief: options.out,
      });
    });
}

function write(path: string, text: string): void {
  try {
    writeFileSync(path, text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw invalid({ out: [`Cannot write ${path}: ${why}`] });
  }
}
