import { describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run, runRefused } from "../support/cli.ts";
import { startServer } from "../support/server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { digestOf, signatureOf, startWebhookStage } from "../support/webhook-stage.ts";
import { openWorkspace } from "../support/workspace.ts";

const token = "b4kU0eFl2mTSK0l7f6kXyP9rJ3vQ8wZs";

async function directoryStatus(url: string, bearer: string): Promise<number> {
  const response = await fetch(`${url}/scim/v2/ServiceProviderConfig`, {
    headers: { authorization: `Bearer ${bearer}` },
  });
  return response.status;
}

/** A data folder with one team, in that folder. */
async function workspaceIn(folder: string): Promise<string> {
  const dataDir = join(folder, "data");
  mkdirSync(dataDir);
  await using workspace = await openWorkspace(dataDir);
  await workspace.team("Acme");
  return dataDir;
}

describe("a secret in a file", () => {
  test("is the key that signs, and the token of the directory, as Docker and systemd hand them over", async () => {
    using folder = temporaryFolder();
    const [keyPath, tokenPath] = [join(folder.path, "key"), join(folder.path, "mounted")];
    writeFileSync(keyPath, `${randomBytes(32).toString("base64")}\n`, { mode: 0o400 });
    // Kubernetes mounts each secret as a link.
    writeFileSync(join(folder.path, "..data"), token, { mode: 0o440 });
    symlinkSync(join(folder.path, "..data"), tokenPath);

    await using stage = await startWebhookStage({
      PARLEY_SECRET_KEY_FILE: keyPath,
      SCIM_TOKEN_FILE: tokenPath,
    });
    // Without its key file, only the named file can be what signs.
    rmSync(join(stage.dataDir, "secret.key"));
    const channel = await stage.channel();
    await using listener = await stage.listen({ channel_ids: [channel.id], events: ["message.created"] });
    await stage.post(channel);
    await listener.delivered();
    const [received] = listener.receiver.requests;
    expect(received && signatureOf(received).digests).toEqual([
      received ? digestOf(received, listener.subscription.secret) : "",
    ]);
    expect(await directoryStatus(stage.server.url, token)).toBe(200);
    expect(await directoryStatus(stage.server.url, `${token}x`)).toBe(401);
    expect(stage.server.logLines().filter((line) => line.includes("secret_file.exposed"))).toEqual([]);

    // A command that names the same file in parley.toml seals with the same key.
    writeFileSync(join(stage.dataDir, "parley.toml"), `secret_key_file = ${JSON.stringify(keyPath)}\n`);
    const rotate = ["webhooks", "rotate-secret", listener.subscription.id, "--yes", "--json"];
    expect(await run(stage.dataDir, rotate)).toMatchObject({ status: 0 });
  });

  test("is warned of at each start when everybody may read it", async () => {
    using folder = temporaryFolder();
    const path = join(folder.path, "token");
    writeFileSync(path, token);
    chmodSync(path, 0o644);
    const dataDir = await workspaceIn(folder.path);
    await using server = await startServer({ dataDir, environment: { SCIM_TOKEN_FILE: path } });
    const line = await server.logLine(({ msg }) => msg === "secret_file.exposed");
    expect(line).toMatchObject({ level: 40, path });
    expect(line.reason).toContain("SCIM_TOKEN_FILE");
    expect(line.reason).toEndWith(`chmod o= ${path}`);
  });

  test("stops the start, in one line that names the setting and the remedy, if it cannot be used", async () => {
    using folder = temporaryFolder();
    const at = (name: string) => join(folder.path, name);
    const dataDir = await workspaceIn(folder.path);
    writeFileSync(at("empty"), "\n");
    writeFileSync(at("large"), token);
    truncateSync(at("large"), 4_097);
    writeFileSync(at("wrong"), "c0rrectHorse\n");
    writeFileSync(at("spaced"), ` ${token}`);
    writeFileSync(at("twice"), `${token}\n\n`);
    mkdirSync(at("folder"));
    expect(Bun.spawnSync(["mkfifo", at("pipe")]).exitCode).toBe(0);
    const refusals: Array<[Record<string, string>, RegExp]> = [
      [{ SCIM_TOKEN_FILE: at("missing") }, /^SCIM_TOKEN_FILE: \S+missing cannot be read \(ENOENT/],
      [{ SCIM_TOKEN_FILE: at("empty") }, /empty is empty/],
      [{ SCIM_TOKEN_FILE: at("large") }, /large is over 4096 bytes/],
      [{ SCIM_TOKEN_FILE: at("spaced") }, /spaced holds something else; it takes visible/],
      [{ SCIM_TOKEN_FILE: at("twice") }, /twice holds something else; it takes visible/],
      [{ SCIM_TOKEN_FILE: at("folder") }, /folder is not a regular file/],
      [{ SCIM_TOKEN_FILE: at("pipe") }, /pipe is not a regular file/],
      [{ SCIM_TOKEN_FILE: "/dev/zero" }, /zero is not a regular file/],
      [{ SCIM_TOKEN_FILE: "token" }, /token is not an absolute path/],
      [
        { PARLEY_SECRET_KEY_FILE: at("wrong") },
        /^PARLEY_SECRET_KEY_FILE: \S+ holds something else; it takes 32/,
      ],
      [
        { SCIM_TOKEN: token, SCIM_TOKEN_FILE: at("wrong") },
        /^SCIM_TOKEN and SCIM_TOKEN_FILE are both set in the environment/,
      ],
    ];
    const outcomes = await Promise.all(
      refusals.map(async ([environment, reason]) => {
        const { status, stdout, stderr } = await run(dataDir, ["serve", "--port", "0"], environment);
        return { reason, status, said: (stdout + stderr).replace(/^error: /, "") };
      }),
    );
    for (const { reason, status, said } of outcomes) {
      expect({ status, lines: said.trimEnd().split("\n").length }, said).toEqual({ status: 1, lines: 1 });
      expect(said).toMatch(reason);
      expect(said).not.toContain("c0rrectHorse");
      expect(said).not.toContain(token);
    }
  });

  test("in the environment takes precedence over parley.toml, which may not have both either", async () => {
    using folder = temporaryFolder();
    const path = join(folder.path, "token");
    writeFileSync(path, token, { mode: 0o600 });
    const dataDir = await workspaceIn(folder.path);
    const toml = join(dataDir, "parley.toml");
    writeFileSync(toml, 'scim_token = "another-token-that-the-file-overrides"\n');
    await using server = await startServer({ dataDir, environment: { SCIM_TOKEN_FILE: path } });
    expect(await directoryStatus(server.url, token)).toBe(200);

    writeFileSync(toml, `scim_token = "another"\nscim_token_file = ${JSON.stringify(path)}\n`);
    const { status, message } = await runRefused(dataDir, ["bots", "list"]);
    expect(status).toBe(1);
    expect(message).toBe("SCIM_TOKEN and SCIM_TOKEN_FILE are both set in parley.toml. Remove one of them.");
  });
});
