import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, copyFileSync, existsSync, linkSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { writeSums } from "../scripts/release/release.ts";
import { targets } from "../scripts/release/targets.ts";
import { runJson } from "./support/cli.ts";
import { parley } from "./support/server.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const project = join(import.meta.dir, "..");
const installer = join(project, "install.sh");
const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

/** A release of the binary that is tested, under each name by which this machine could look for it. */
const release = join(folder.path, "release");
const system = `${process.platform}-${process.arch}`;
const names = targets.map(({ file }) => file).filter((file) => file.includes(`-${system}`));

beforeAll(async () => {
  mkdirSync(release);
  const [first = "", ...others] = names;
  copyFileSync(parley, join(release, first));
  for (const name of others) linkSync(join(release, first), join(release, name));
  copyFileSync(join(project, "packaging/parley.service"), join(release, "parley.service"));
  await writeSums(release);
}, 180_000);

/** Runs install.sh to its end, below `dest` if there is one; `env` is added to the environment. */
async function install(args: string[], env: Record<string, string> = {}, script = installer) {
  const child = Bun.spawn([script, ...args], {
    env: { PATH: process.env.PATH, HOME: folder.path, ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, status] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ]);
  return { status, stdout, stderr };
}

/** A copy of the release in which one byte of each binary is another one. */
function damagedRelease(): string {
  const damaged = join(folder.path, "damaged");
  mkdirSync(damaged);
  for (const name of ["SHA256SUMS", "parley.service"]) copyFileSync(join(release, name), join(damaged, name));
  const [first = "", ...others] = names;
  const bytes = readFileSync(join(release, first));
  bytes.writeUInt8(bytes.readUInt8(1_000_000) ^ 1, 1_000_000);
  writeFileSync(join(damaged, first), bytes);
  for (const name of others) linkSync(join(damaged, first), join(damaged, name));
  return damaged;
}

/** Every file below the folder with its size and its time, to compare. */
function contents(path: string): string[] {
  const files = readdirSync(path, { recursive: true }).map(String).toSorted();
  return files.map((file) => {
    const { size, mtimeMs, ino } = statSync(join(path, file));
    return `${file} ${size} ${mtimeMs} ${ino}`;
  });
}

describe("install.sh --from a release", () => {
  test("installs the service, refuses a flipped byte, is uninstalled without the data, and installed over it", async () => {
    const dest = join(folder.path, "dest");
    const env = { DESTDIR: dest };
    const bin = join(dest, "usr/local/bin/parley");
    const unit = join(dest, "etc/systemd/system/parley.service");
    const data = join(dest, "var/lib/parley");
    const args = ["--from", release, "--service"];

    const first = await install(args, env);
    expect(first).toMatchObject({ status: 0, stderr: "" });
    expect(first.stdout).toContain(`Installed ${bin}, version `);
    expect(first.stdout).toContain(`Wrote ${unit}.`);
    expect(readFileSync(unit, "utf8")).toContain("\nExecStart=/usr/local/bin/parley serve\n");
    expect(
      Bun.spawnSync([bin, "--data-dir", data, "init", "--team", "Acme", "--owner", "Ana"]).exitCode,
    ).toBe(0);

    const before = contents(dest);
    const refused = await install(["--from", damagedRelease(), "--service"], env);
    expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining("SHA-256 is another one") });
    expect(contents(dest)).toEqual(before);

    const removed = await install(["--uninstall"], env);
    expect(removed).toMatchObject({ status: 0, stderr: "" });
    expect(removed.stdout).toContain(`The data is still in ${data}`);
    expect({ bin: existsSync(bin), unit: existsSync(unit) }).toEqual({ bin: false, unit: false });
    expect(await install(["--uninstall"], env)).toMatchObject({ status: 1 });

    expect(await install(args, env)).toMatchObject({ status: 0, stderr: "" });
    expect(await runJson(data, ["users", "list"])).toMatchObject([{ name: "Ana" }]);
    expect(await install(args, env)).toMatchObject({ stdout: expect.stringContaining(`Replaced ${bin}`) });
  }, 180_000);

  test("leaves nothing behind where a release is refused for a first installation", async () => {
    const dest = join(folder.path, "refused");
    const { status } = await install(["--from", project], { DESTDIR: dest });
    expect({ status, exists: existsSync(dest) }).toEqual({ status: 1, exists: false });
  });

  test("comes from a URL too, but never over a redirect from https to http", async () => {
    const { key, cert } = certificate();
    using plain = Bun.serve({ port: 0, fetch: serveRelease });
    let target = "";
    using secure = Bun.serve({
      port: 0,
      tls: { key: readFileSync(key), cert: readFileSync(cert) },
      fetch: (request) =>
        target === "" ? serveRelease(request) : Response.redirect(target + pathOf(request)),
    });
    const env = { CURL_CA_BUNDLE: cert };
    const from = `https://localhost:${secure.port}/v1`;
    const prefix = (name: string) => join(folder.path, name);

    const installed = await install(["--from", from, "--prefix", prefix("https")], env);
    expect(installed).toMatchObject({ status: 0, stderr: "" });
    expect(readdirSync(prefix("https/bin"))).toEqual(["parley"]);

    target = `http://localhost:${plain.port}`;
    const redirected = await install(["--from", from, "--prefix", prefix("redirected")], env);
    expect(redirected).toMatchObject({ status: 1, stdout: "" });
    expect(redirected.stderr).toContain(`${from}/SHA256SUMS could not be fetched`);
    expect(existsSync(prefix("redirected"))).toBe(false);
  }, 180_000);

  test.each([
    ["x86_64", "avx2", "", "linux-x64"],
    ["x86_64", "sse4_2", "", "linux-x64-baseline"],
    ["x86_64", "avx2", "musl libc", "linux-x64-musl"],
    ["x86_64", "sse4_2", "musl libc", "linux-x64-musl-baseline"],
    ["aarch64", "asimd", "", "linux-arm64"],
    ["aarch64", "asimd", "musl libc", "linux-arm64-musl"],
  ])("on %s with %s and %p takes the build %s", async (machine, flags, libc, expected) => {
    const { path, env } = await releaseOfEvery(machine, flags, libc);
    const prefix = join(path, "prefix");
    const { status, stdout } = await install(["--from", path, "--prefix", prefix], env);
    expect({ status, stdout }).toEqual({
      status: 0,
      stdout: expect.stringContaining(`version ${expected}.`),
    });
  });

  test("says which machine there is no build for", async () => {
    const { path, env } = await releaseOfEvery("riscv64", "", "");
    const { status, stderr } = await install(["--from", path, "--prefix", join(path, "prefix")], env);
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining("linux-riscv64") });
  });

  test("needs a release where it is no part of a clone, and refuses options that do not go together", async () => {
    const script = join(folder.path, "install.sh");
    copyFileSync(installer, script);
    const alone = await install(["--prefix", join(folder.path, "alone")], {}, script);
    expect(alone).toMatchObject({ status: 2, stderr: expect.stringContaining("--from URL") });
    for (const wrong of [
      ["--uninstall", "--service"],
      ["--service", "--prefix", "/home/ana/.local"],
    ]) {
      expect(await install(wrong, { DESTDIR: folder.path })).toMatchObject({ status: 2, stdout: "" });
    }
  });
});

// A Mac has no systemd to ask.
const testWithSystemd = Bun.which("systemd-analyze") === null ? () => {} : test;

testWithSystemd(
  "systemd finds nothing wrong with the unit, and hardly anything that it could still do",
  () => {
    const unit = join(folder.path, "parley.service");
    const text = readFileSync(join(project, "packaging/parley.service"), "utf8");
    writeFileSync(unit, text.replace("/usr/bin/parley", parley));
    const verified = Bun.spawnSync(["systemd-analyze", "verify", unit]);
    expect({ status: verified.exitCode, said: verified.stderr.toString() }).toEqual({ status: 0, said: "" });
    const rated = Bun.spawnSync(["systemd-analyze", "security", "--offline=true", "--threshold=20", unit]);
    expect(rated.exitCode, rated.stdout.toString()).toBe(0);
  },
);

/** A release whose files print their own name as the version, and a PATH on which this machine is another one. */
async function releaseOfEvery(machine: string, flags: string, libc: string) {
  const path = join(folder.path, `every-${machine}-${flags}-${libc.replace(" ", "-")}`);
  const bin = `${path}-path`;
  mkdirSync(path);
  mkdirSync(bin);
  const write = (file: string, script: string) => {
    writeFileSync(file, `#!/bin/sh\n${script}\n`);
    chmodSync(file, 0o755);
  };
  for (const { file } of targets) write(join(path, file), `echo ${file.split("-").slice(2).join("-")}`);
  await writeSums(path);
  for (const name of [
    "sh",
    "dirname",
    "awk",
    "mktemp",
    "mkdir",
    "cp",
    "mv",
    "rm",
    "chmod",
    "sha256sum",
    "tr",
  ]) {
    symlinkSync(Bun.which(name) ?? name, join(bin, name));
  }
  write(join(bin, "uname"), `[ "$1" = -m ] && echo ${machine} || echo Linux`);
  write(join(bin, "ldd"), `echo '${libc}'`);
  // Called as: grep -qw avx2 /proc/cpuinfo
  write(join(bin, "grep"), `[ "$2" = '${flags}' ]`);
  return { path, env: { PATH: bin } };
}

function pathOf(request: Request): string {
  return new URL(request.url).pathname;
}

function serveRelease(request: Request): Response {
  return new Response(Bun.file(join(release, basename(pathOf(request)))));
}

/** A certificate for localhost that nobody trusts but who is told to. */
function certificate(): { key: string; cert: string } {
  const [key, cert] = [join(folder.path, "key.pem"), join(folder.path, "cert.pem")];
  const { success, stderr } = Bun.spawnSync(
    ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert].concat([
      "-subj",
      "/CN=localhost",
      "-addext",
      "subjectAltName=DNS:localhost",
      "-days",
      "2",
    ]),
  );
  expect(success, stderr.toString()).toBe(true);
  return { key, cert };
}
