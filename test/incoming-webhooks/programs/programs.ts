import { readFileSync } from "node:fs";
import { join } from "node:path";
import { cachedProgram } from "../../support/cached-program.ts";

const pathOf = (...names: string[]) => join(import.meta.dir, ...names);
const lockOf = (...names: string[]) => readFileSync(pathOf(...names), "utf8");

/** Go is a compiler that not everybody has. */
export const hasGo = Bun.which("go") !== null;
if (!hasGo) process.stderr.write("No Go on this machine: Alertmanager and slack-go are NOT tried.\n");

/** How long a test may take that has to build its program first, in milliseconds: as long as a slow machine needs. */
export const buildMs = 1_800_000;

/**
 * The path of Alertmanager, in the version of `alertmanager/go.mod`. Go does not build in the folder of a module, and the
 * module lacks the pages of the user interface, which nobody needs here: so a copy is built, with an empty page.
 */
export async function alertmanagerProgram(): Promise<string> {
  const module = "github.com/prometheus/alertmanager";
  const steps = [
    'rm -rf "$0.src"',
    `go mod download ${module}`,
    `cp -r "$(go list -m -f '{{.Dir}}' ${module})" "$0.src"`,
    'chmod -R u+w "$0.src"',
    'mkdir -p "$0.src/ui/app/dist"',
    'touch "$0.src/ui/app/dist/index.html"',
    'go build -C "$0.src" -p 1 -trimpath -o "$0.new" ./cmd/alertmanager',
    'rm -rf "$0.src"',
  ];
  return await cachedProgram("alertmanager", {
    folder: pathOf("alertmanager"),
    lock: lockOf("alertmanager", "go.sum"),
    make: steps.join(" && "),
  });
}

/** The path of a program that posts with slack-go to the address that is its argument. */
export async function slackGoProgram(): Promise<string> {
  return await cachedProgram("slack-go", {
    folder: pathOf("slack-go"),
    lock: lockOf("slack-go", "go.sum") + lockOf("slack-go", "main.go"),
    make: 'go build -p 1 -trimpath -o "$0.new" .',
  });
}

/** The folder with slack_sdk, for PYTHONPATH. */
export async function slackSdkFolder(): Promise<string> {
  const pip = "python3 -m pip install --quiet --no-deps --require-hashes --disable-pip-version-check";
  return await cachedProgram("slack_sdk", {
    folder: pathOf(),
    lock: lockOf("requirements.txt"),
    make: `${pip} --root-user-action=ignore --target "$0.new" -r requirements.txt`,
  });
}
