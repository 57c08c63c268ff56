import { beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../support/cli.ts";
import { atEndOfRun } from "../support/end-of-run.ts";
import { startServer } from "../support/server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

describe("in a current folder with files from somebody else", () => {
  const folder = temporaryFolder();
  atEndOfRun(() => folder[Symbol.dispose]());
  const trap = join(folder.path, "trap");
  const dataDir = join(folder.path, "data");
  const sprung = join(folder.path, "sprung");
  /** Also where a person's own settings for Bun lie. */
  const environment = { HOME: trap, XDG_CONFIG_HOME: trap, PATH: process.env.PATH ?? "" };

  beforeAll(async () => {
    mkdirSync(trap);
    const code = join(trap, "code.ts");
    writeFileSync(code, `require("node:fs").writeFileSync(${JSON.stringify(sprung)}, "");`);
    for (const name of ["bunfig.toml", ".bunfig.toml"]) {
      writeFileSync(join(trap, name), `preload = [${JSON.stringify(code)}]`);
    }
    const settings = "WEBHOOKS_BLOCK_PRIVATE_URLS=false\nPARLEY_HOST=host.invalid\n";
    for (const name of [".env", ".env.local", ".env.production", ".env.development"]) {
      writeFileSync(join(trap, name), settings);
    }
    writeFileSync(
      join(trap, "tsconfig.json"),
      JSON.stringify({ compilerOptions: { paths: { "*": [code] } } }),
    );
    writeFileSync(join(trap, "package.json"), JSON.stringify({ imports: { "*": code } }));
    expect(await run(dataDir, ["init", "--team", "Acme", "--owner", "Ana"])).toMatchObject({ status: 0 });
  });

  test("a command runs none of its code", async () => {
    expect(await run(dataDir, ["--version"], environment, trap)).toMatchObject({ status: 0, stderr: "" });
    expect(existsSync(sprung)).toBe(false);
  });

  test("a command reads no settings from it", async () => {
    const create = ["webhooks", "create", "--name", "N", "--event", "message.created"];
    const { status, stderr } = await run(
      dataDir,
      [...create, "--url", "http://127.0.0.1:9/"],
      environment,
      trap,
    );
    expect(status).toBe(1);
    expect(stderr).toContain("127.0.0.1");
  });

  test("a server does neither, also after restarting itself", async () => {
    const within = ["/bin/sh", "-c", `cd '${trap}' && exec "$0" "$@"`];
    await using server = await startServer({ dataDir, environment, within });
    expect(await server.stop()).toBe(0);
    expect(existsSync(sprung)).toBe(false);
  });
});
