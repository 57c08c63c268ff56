import { openWorkspace } from "../support/workspace.ts";
import { makePlayground } from "./playground.ts";

// A separate program, so that everything it opened is closed when it ends: a server that is killed was then the only
// one with the data open, and the next one must recover it.
await using workspace = await openWorkspace(Bun.argv.at(-1) ?? "");
process.stdout.write(JSON.stringify(await makePlayground(workspace)));
