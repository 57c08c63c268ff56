import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A payload as it was published: github.com/go-playground/webhooks, MIT. */
export type Sample = { name: string; payload: Record<string, unknown> };

/**
 * The payloads of this sender in the Go module that `go.mod` here names, which is fetched unless it is cached. Undefined
 * on a machine without Go, which is said on standard error.
 * @throws when the module cannot be fetched, with what Go said.
 */
export function publishedSamples(sender: "gitea" | "gitlab"): Sample[] | undefined {
  if (Bun.which("go") === null) {
    process.stderr.write(`No Go on this machine: the published samples of ${sender} are NOT tried.\n`);
    return undefined;
  }
  const fetched = Bun.spawnSync(["go", "mod", "download", "-json", "github.com/go-playground/webhooks/v6"], {
    cwd: import.meta.dir,
  });
  if (!fetched.success)
    throw new Error(
      `The samples cannot be fetched: ${fetched.stdout.toString()}${fetched.stderr.toString()}`,
    );
  const { Dir: module } = JSON.parse(fetched.stdout.toString()) as { Dir: string };
  const folder = join(module, "testdata", sender);
  return readdirSync(folder).map((file) => ({
    name: file.replace(".json", ""),
    payload: JSON.parse(readFileSync(join(folder, file), "utf8")) as Record<string, unknown>,
  }));
}
