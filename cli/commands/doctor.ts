import type { Command } from "commander";
import { examine } from "../../src/doctor/doctor.ts";
import type { Finding } from "../../src/doctor/finding.ts";
import { addCommand } from "../invocation/command.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { FailedRequest } from "../terminal/failed-request.ts";

/** `parley doctor`: what is wrong with the data folder and around it. */
export function addDoctor(program: Command, invocation: Invocation): void {
  addCommand(program, "doctor", {
    summary: "Check the data folder, the key, the disk, the clock and the network",
    examples: ["parley doctor", "parley doctor --full"],
  })
    .option("--full", "read the whole database, which takes minutes if it is large")
    .action(async ({ full = false }: { full?: boolean }) => {
      const { dataDir, environment, output } = invocation;
      const findings = await examined();
      const failures = findings.filter(({ state }) => state === "failed").length;
      if (failures === 0 || !output.isJson) output.findings(findings);
      if (failures > 0) {
        const checks = failures === 1 ? "One check" : `${failures} checks`;
        throw new FailedRequest(`${checks} of ${findings.length} failed.`, findings);
      }

      async function examined(): Promise<Finding[]> {
        using progress = output.progress();
        return await examine({ dataDir, environment, isFull: full }, (name) =>
          progress.show(`Checking: ${name} …`),
        );
      }
    });
}
