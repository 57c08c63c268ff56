import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { chmod, cp, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { basename, join } from "node:path";
import packageFile from "../package.json" with { type: "json" };

const project = join(import.meta.dir, "..");

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "parley-install-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** Runs a program to its end. `env` is all that it gets to see of the environment. */
async function run(command: string[], env: Record<string, string | undefined>) {
  const child = Bun.spawn(command, { env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr, status] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ]);
  return { stdout, stderr, status };
}

/** The caller's PATH without Bun: a folder that has it is replaced by links to all else that is in it. */
async function pathWithoutBun(): Promise<string> {
  const folders = (process.env.PATH ?? "").split(":").filter((entry) => entry !== "");
  const without = folders.map(async (original, index) => {
    if (!existsSync(join(original, "bun"))) return original;
    const mirror = await mkdtemp(join(folder, `path-${index}-`));
    const names = (await readdir(original)).filter((name) => name !== "bun" && name !== "bunx");
    await Promise.all(names.map((name) => symlink(join(original, name), join(mirror, name))));
    return mirror;
  });
  return (await Promise.all(without)).join(":");
}

/** A home folder that is empty but for where this machine gets its packages from. */
async function freshHome(): Promise<string> {
  const home = join(folder, "home");
  await mkdir(home);
  for (const settings of [".npmrc", ".bunfig.toml"]) {
    if (existsSync(join(homedir(), settings))) await symlink(join(homedir(), settings), join(home, settings));
  }
  return home;
}

describe("install.sh", () => {
  test(
    "installs parley in an empty home without Bun, and replaces it while it runs",
    async () => {
      const clone = join(folder, "clone");
      const leftOut = [".git", ".bun", "node_modules", "dist"];
      await cp(project, clone, { recursive: true, filter: (path) => !leftOut.includes(basename(path)) });
      const env = { ...process.env, HOME: await freshHome(), PATH: await pathWithoutBun() };
      const prefix = join(folder, "prefix");
      const parley = join(prefix, "bin", "parley");
      const install = [join(clone, "install.sh"), "--prefix", prefix];

      const first = await run(install, env);
      expect(first).toMatchObject({ status: 0, stderr: expect.stringContaining("Fetching Bun") });
      expect(first.stdout).toContain(`Installed ${parley}, version ${packageFile.version}.`);
      expect(first.stdout).toContain(`export PATH="${prefix}/bin:$PATH"`);
      expect(await run([parley, "--version"], env)).toMatchObject({
        status: 0,
        stdout: `${packageFile.version}\n`,
      });

      // As plain Bun, the installed binary runs for as long as its standard input is open.
      const running = Bun.spawn([parley, "-e", "process.stdin.pipe(process.stdout)"], {
        env: { ...env, BUN_BE_BUN: "1" },
        stdin: "pipe",
        stdout: "pipe",
      });
      // Where others may write to the folder, they can guess the number of the process, and what it would be called by.
      const victim = join(folder, "victim");
      await writeFile(victim, "precious");
      const plant = 'ln -s "$0" "$1/bin/.parley.$$" && exec "$2" --prefix "$1"';
      const second = await run(["sh", "-c", plant, victim, prefix, join(clone, "install.sh")], {
        ...env,
        PATH: `${prefix}/bin:${env.PATH}`,
      });
      expect((await stat(victim)).size).toBe("precious".length);
      const planted = (await readdir(join(prefix, "bin"))).filter((name) => /^\.parley\.\d+$/.test(name));
      await Promise.all(planted.map((name) => rm(join(prefix, "bin", name))));
      expect(second).toMatchObject({ status: 0, stderr: "" });
      expect(second.stdout).toContain(`Replaced ${parley} with version ${packageFile.version}.`);
      expect(second.stdout).not.toContain("export PATH");
      expect(await readdir(join(prefix, "bin"))).toEqual(["parley"]);
      await running.stdin.write("still here");
      await running.stdin.end();
      expect(await running.stdout.text()).toBe("still here");
      expect(await run([parley, "--version"], env)).toMatchObject({
        status: 0,
        stdout: `${packageFile.version}\n`,
      });
    },
    { timeout: 180_000 },
  );

  test("prints its usage for --help", async () => {
    const { status, stdout } = await run([join(project, "install.sh"), "--help"], process.env);
    expect(status).toBe(0);
    expect(stdout).toStartWith("Usage: ./install.sh [--from FOLDER|URL] [--prefix DIR] [--service]");
  });

  test("rejects an unknown option, and a prefix without a folder", async () => {
    for (const wrong of [["--prefx", folder], ["--prefix"], ["--from"]]) {
      const { status, stderr } = await run([join(project, "install.sh"), ...wrong], process.env);
      expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining(wrong[0] ?? "") });
    }
  });

  test("suggests --prefix when the folder cannot be created", async () => {
    const file = join(folder, "a-file");
    await writeFile(file, "");
    const { status, stderr } = await run([join(project, "install.sh"), "--prefix", file], process.env);
    expect(status).toBe(1);
    expect(stderr).toContain(`Cannot write to ${file}/bin.`);
    expect(stderr).toContain("--prefix DIR");
  });
});

describe("find-bun.sh", () => {
  /** Runs it in a clone of its own, where PATH has a bun that calls itself `version`, and neither npm nor curl. */
  async function findBun(version: string) {
    const clone = await mkdtemp(join(folder, "clone-"));
    const bin = join(clone, "bin");
    await mkdir(bin);
    for (const name of ["sh", "dirname", "awk", "mkdir", "mktemp", "rm"]) {
      await symlink(Bun.which(name) ?? name, join(bin, name));
    }
    await writeFile(join(bin, "bun"), `#!/bin/sh\necho ${version}\n`);
    await chmod(join(bin, "bun"), 0o755);
    await cp(join(project, "scripts/find-bun.sh"), join(clone, "scripts/find-bun.sh"));
    return { bun: join(bin, "bun"), ...(await run([join(clone, "scripts/find-bun.sh")], { PATH: bin })) };
  }

  test("uses the Bun on the PATH if it is new enough", async () => {
    for (const version of ["1.4.5", "1.4.6-canary.2", "1.10.0", "2.0.0"]) {
      const { bun, stdout, status } = await findBun(version);
      expect({ version, stdout, status }).toEqual({ version, stdout: `${bun}\n`, status: 0 });
    }
  });

  test("runs nothing but the published Bun, whatever the registry returns", async () => {
    const clone = await mkdtemp(join(folder, "clone-"));
    await mkdir(join(clone, "package/bin"), { recursive: true });
    await writeFile(join(clone, "package/bin/bun"), `#!/bin/sh\necho 1.4.5\ntouch '${clone}/ran'\n`);
    await chmod(join(clone, "package/bin/bun"), 0o755);
    const packed = Bun.spawnSync(["tar", "-cz", "-C", clone, "package"]).stdout;
    const asked: string[] = [];
    using registry = Bun.serve({
      port: 0,
      fetch({ url }) {
        asked.push(new URL(url).pathname);
        return new Response(packed);
      },
    });
    // The machine's npm names this registry, and curl gets to no other one.
    const bin = join(clone, "bin");
    await mkdir(bin);
    await writeFile(join(bin, "npm"), `#!/bin/sh\necho http://localhost:${registry.port}/\n`);
    const curl = Bun.which("curl") ?? "curl";
    await writeFile(join(bin, "curl"), `#!/bin/sh\nexec '${curl}' --proto =http "$@"\n`);
    await Promise.all(["npm", "curl"].map((name) => chmod(join(bin, name), 0o755)));
    await cp(join(project, "scripts/find-bun.sh"), join(clone, "scripts/find-bun.sh"));

    const { stdout, stderr, status } = await run([join(clone, "scripts/find-bun.sh")], {
      PATH: `${bin}:${await pathWithoutBun()}`,
    });
    expect({ stdout, status }).toEqual({ stdout: "", status: 1 });
    expect(asked).toEqual([expect.stringMatching(/^\/@oven\/bun-[a-z0-9-]+\/-\/bun-.*-1\.4\.5\.tgz$/)]);
    expect(stderr).toContain("SHA-512");
    expect(existsSync(join(clone, "ran"))).toBe(false);
    expect(await readdir(join(clone, ".bun"), { recursive: true })).toEqual(["1.4.5"]);
  });

  /** Everything that it needs but a Bun, in one folder: no curl, and nothing that computes a SHA-512. */
  async function bareTools(clone: string, more: Record<string, string> = {}): Promise<string> {
    const bin = join(clone, "bin");
    await mkdir(bin);
    const tools = "sh dirname awk mkdir mktemp rm mv uname tr ldd sysctl grep tar gzip chmod env node".split(
      " ",
    );
    for (const name of tools) {
      const path = Bun.which(name);
      if (path !== null && !(name in more)) await symlink(path, join(bin, name));
    }
    for (const [name, script] of Object.entries(more)) {
      await writeFile(join(bin, name), `#!/bin/sh\n${script}\n`);
      await chmod(join(bin, name), 0o755);
    }
    await cp(join(project, "scripts/find-bun.sh"), join(clone, "scripts/find-bun.sh"));
    return bin;
  }

  const sha512sum = `exec '${Bun.which("openssl") ?? "openssl"}' dgst -sha512 -r "$1"`;

  test("fetches nothing if no tool can verify the download, and says what is missing", async () => {
    const clone = await mkdtemp(join(folder, "clone-"));
    const PATH = await bareTools(clone, { curl: `: > '${clone}/asked'` });
    const { stdout, stderr, status } = await run([join(clone, "scripts/find-bun.sh")], { PATH });
    expect({ stdout, status }).toEqual({ stdout: "", status: 1 });
    expect(stderr).toContain("sha512sum, shasum or openssl");
    expect(stderr).not.toContain("What came");
    expect(existsSync(join(clone, "asked"))).toBe(false);
  });

  test("verifies npm's download too, with openssl if there is nothing else", async () => {
    const clone = await mkdtemp(join(folder, "clone-"));
    const openssl = `exec '${Bun.which("openssl") ?? "openssl"}' "$@"`;
    const npm = '[ "$1" = pack ] && echo nonsense > oven-bun-any-1.4.5.tgz';
    const PATH = await bareTools(clone, { npm, openssl });
    const { stdout, stderr, status } = await run([join(clone, "scripts/find-bun.sh")], { PATH });
    expect({ stdout, status }).toEqual({ stdout: "", status: 1 });
    expect(stderr).toContain("(its SHA-512 is another one)");
  });

  const npm = Bun.which("npm");
  const testWithNpm = npm === null ? () => {} : test;

  testWithNpm(
    "has npm fetch it where there is no curl, and takes the build for older processors where the other does not run",
    async () => {
      const clone = await mkdtemp(join(folder, "clone-"));
      // A processor that cannot run what is unpacked first, where there is another build to be had.
      const tar = `'${Bun.which("tar") ?? "tar"}' "$@" || exit 1
        echo unpacked >> '${clone}/unpacked'
        [ "$(uname -m)" = x86_64 ] && [ "$(grep -c . '${clone}/unpacked')" = 1 ] || exit 0
        echo 'kill -ILL $$' > "$4/package/bin/bun"`;
      const PATH = await bareTools(clone, { npm: `exec '${npm}' "$@"`, sha512sum, tar });
      const env = { ...process.env, PATH, npm_config_cache: join(clone, "cache") };
      const { stdout, stderr, status } = await run([join(clone, "scripts/find-bun.sh")], env);
      const bun = join(clone, ".bun/1.4.5/bun");
      expect({ stdout, status }, stderr).toEqual({ stdout: `${bun}\n`, status: 0 });
      expect((await run([bun, "--version"], {})).stdout).toBe("1.4.5\n");
    },
    { timeout: 180_000 },
  );

  test("skips an older Bun, and says what to install if none can be fetched", async () => {
    for (const version of ["1.4.4", "0.9.9", "nonsense"]) {
      const { stdout, stderr, status } = await findBun(version);
      expect({ version, stdout, status }).toEqual({ version, stdout: "", status: 1 });
      expect(stderr).toContain("Bun 1.4.5 or newer");
      expect(stderr).toContain("Install it (https://bun.sh), or curl");
    }
  });
});
