import type { Command } from "commander";
import path from "../../licenses/THIRD_PARTY_NOTICES.txt" with { type: "file" };
import { addCommand } from "../invocation/command.ts";
import type { Invocation } from "../invocation/invocation.ts";

/** `parley licenses`: the third-party software in the binary and its licences. */
export function addLicenses(program: Command, invocation: Invocation): void {
  addCommand(program, "licenses", {
    summary: "Print the licences of the third-party software included",
    examples: ["parley licenses | less"],
  }).action(async () => {
    const notices = await Bun.file(path).text();
    if (invocation.output.isJson) invocation.output.json({ notices });
    else process.stdout.write(notices);
  });
}
