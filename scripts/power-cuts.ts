// Cuts the power at ten moments in the first half minute after `init` and checks that everything acknowledged survives
// and that the secret still signs: `sudo bun scripts/power-cuts.ts` after `bun run build`. It needs root and Linux:
// each data folder is on an ext4 of its own in a file, shut down without writing its journal, which is what a power cut
// leaves.

import { Database as SqliteFile } from "bun:sqlite";
import { dlopen, FFIType, ptr } from "bun:ffi";
import { createHmac } from "node:crypto";
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { $ } from "bun";

const cutsAfterSeconds = [0, 0.1, 0.5, 1, 2, 4, 7, 12, 20, 30];

const diskBytes = 64 * 1_024 * 1_024;

const parley = join(import.meta.dir, "..", "dist", "parley");

/** `_IOR('X', 125, __u32)`, and its flag for "flush nothing". */
const shutDownRequest = 0x8004587dn;
const withoutJournal = new Uint32Array([2]);

const { symbols: libc } = dlopen("libc.so.6", {
  ioctl: { args: [FFIType.i32, FFIType.u64, FFIType.ptr], returns: FFIType.i32 },
});

const scratch = mkdtempSync(join(tmpdir(), "parley-power-cuts-"));
try {
  const failures = await Promise.all(cutsAfterSeconds.map(async (seconds) => await tryCut(seconds)));
  const failed = failures.filter((failure) => failure !== undefined);
  for (const failure of failed) console.log(failure);
  console.log(`${failures.length - failed.length} of ${failures.length} power cuts lost nothing`);
  process.exitCode = failed.length === 0 ? 0 : 1;
} finally {
  rmSync(scratch, { recursive: true });
}

/** Returns a description of the loss, or undefined when nothing was lost. */
async function tryCut(seconds: number): Promise<string | undefined> {
  const disk = join(scratch, `${seconds}.img`);
  const mount = join(scratch, `${seconds}`);
  mkdirSync(mount);
  writeFileSync(disk, "");
  truncateSync(disk, diskBytes);
  await $`mkfs.ext4 -q ${disk} && mount -o loop ${disk} ${mount}`.quiet();
  try {
    const dataDir = join(mount, "new", "data");
    const before = await use(dataDir, seconds, () => cutPower(mount));
    await $`umount ${mount} && mount -o loop ${disk} ${mount}`.quiet();
    await expectAll(dataDir, before);
    return undefined;
  } catch (error) {
    return `${seconds} s after init: ${String(error)}`;
  } finally {
    await $`umount ${mount}`.quiet();
  }
}

type Acknowledged = { token: string; channel: string; secret?: string; bodies: string[] };

/** Makes a workspace, subscribes and posts one message after another until the power is cut. */
async function use(dataDir: string, seconds: number, cut: () => void): Promise<Acknowledged> {
  await command(dataDir, "init", "--team", "Acme", "--owner", "Ada");
  const cutAt = performance.now() + seconds * 1_000;
  const { token } = await command<{ token: string }>(
    dataDir,
    "tokens",
    "create",
    "--user",
    "Ada",
    "--all-scopes",
  );
  const [{ id: channel } = { id: "" }] = await command<Array<{ id: string }>>(dataDir, "channels", "list");
  const acknowledged: Acknowledged = { token, channel, bodies: [] };
  const server = await serve(dataDir);
  const post = poster(server.url, token);
  const subscription = { name: "first", url: "http://127.0.0.1:9/", events: ["message.created"] };
  acknowledged.secret = ((await post("/webhooks", subscription)) as { secret: string }).secret;
  do {
    const body = `message ${acknowledged.bodies.length}`;
    await post(`/channels/${channel}/messages`, { body });
    acknowledged.bodies.push(body);
  } while (performance.now() < cutAt);
  cut();
  server.child.kill("SIGKILL");
  await server.child.exited;
  return acknowledged;
}

/** @throws unless every acknowledged message is there after the next start and the secret signs a new delivery. */
async function expectAll(dataDir: string, { token, channel, secret, bodies }: Acknowledged): Promise<void> {
  const signed = Promise.withResolvers<boolean>();
  using receiver = Bun.serve({
    port: 0,
    async fetch(request) {
      const body = await request.text();
      const header = request.headers.get("x-service-signature") ?? "";
      const [, time, digest] = /^t=(\d+),v1=([0-9a-f]+)/.exec(header) ?? [];
      signed.resolve(
        createHmac("sha256", secret ?? "")
          .update(`${time}.${body}`)
          .digest("hex") === digest,
      );
      return new Response();
    },
  });
  {
    using file = new SqliteFile(join(dataDir, "parley.db"));
    const kept = new Set(file.query("SELECT body FROM messages").values().flat());
    const missing = bodies.filter((body) => !kept.has(body));
    if (missing.length > 0) throw new Error(`${missing.length} of ${bodies.length} messages are missing`);
    file.run("UPDATE subscriptions SET url = ?, status = 'active'", [`http://127.0.0.1:${receiver.port}/`]);
  }
  const server = await serve(dataDir);
  await poster(server.url, token)(`/channels/${channel}/messages`, { body: "after the cut" });
  const isSigned = await Promise.race([signed.promise, Bun.sleep(15_000)]);
  server.child.kill("SIGTERM");
  await server.child.exited;
  if (isSigned !== true)
    throw new Error(isSigned === false ? "the signature is another one" : "nothing is delivered");
}

function cutPower(mount: string): void {
  const opened = openSync(mount, "r");
  const result = libc.ioctl(opened, shutDownRequest, ptr(withoutJournal));
  closeSync(opened);
  if (result !== 0) throw new Error("the file system cannot be shut down");
}

async function command<Data>(dataDir: string, ...args: string[]): Promise<Data> {
  return ((await $`${parley} --data-dir ${dataDir} ${args} --json`.json()) as { data: Data }).data;
}

async function serve(dataDir: string) {
  const child = Bun.spawn([parley, "serve", "--port", "0", "--data-dir", dataDir, "--json"], {
    env: { ...process.env, WEBHOOKS_BLOCK_PRIVATE_URLS: "false", INTEGRATIONS_API_RATE_LIMIT: "1000000" },
    stdout: "pipe",
    stderr: "ignore",
  });
  for await (const part of child.stdout) {
    const said = JSON.parse(Buffer.from(part).toString()) as { data?: { url: string }; message?: string };
    if (!said.data) throw new Error(said.message);
    return { child, url: said.data.url };
  }
  throw new Error("the server ended");
}

function poster(url: string, token: string) {
  return async (path: string, body: object): Promise<unknown> => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const answer = await fetch(`${url}/api/v1${path}`, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    if (answer.status !== 201) throw new Error(`${path} answers ${answer.status}: ${await answer.text()}`);
    return await answer.json();
  };
}
