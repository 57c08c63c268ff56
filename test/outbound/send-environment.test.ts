import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { type TemporaryFolder, temporaryFolder } from "../support/temporary-folder.ts";
import { type Authority, createAuthority } from "./certificates.ts";
import { answering, noContent, rawReceiver } from "../support/receivers/raw-receiver.ts";
import { tlsReceiver } from "../support/receivers/tls-receiver.ts";

/** As in the build of the program itself. */
const autoload = ["--no-compile-autoload-dotenv", "--no-compile-autoload-bunfig"];
const program = Bun.fileURLToPath(import.meta.resolve("./send-each.ts"));

describe("whatever the environment says", () => {
  let folder: TemporaryFolder;
  let authority: Authority;
  let binary: string;

  beforeAll(async () => {
    folder = temporaryFolder();
    authority = createAuthority(folder.path);
    binary = join(folder.path, "send-each");
    const build = Bun.spawn(
      [process.execPath, "build", "--compile", ...autoload, "--outfile", binary, program],
      {
        stdout: "ignore",
        stderr: "inherit",
      },
    );
    expect(await build.exited).toBe(0);
  });

  afterAll(() => folder[Symbol.dispose]());

  /** Runs the program with an environment that would lead every request astray, and reads what it printed. */
  async function outcomesOf(command: string[], proxyPort: number, posts: object[]): Promise<unknown[]> {
    const proxy = `http://127.0.0.1:${proxyPort}`;
    const names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
    const child = Bun.spawn([...command, ...posts.map((post) => JSON.stringify(post))], {
      env: {
        ...process.env,
        ...Object.fromEntries(
          names.flatMap((name) => [
            [name, proxy],
            [name.toLowerCase(), proxy],
          ]),
        ),
        NO_PROXY: "",
        no_proxy: "",
        NODE_TLS_REJECT_UNAUTHORIZED: "0",
      },
      stdout: "pipe",
      stderr: "ignore",
    });
    const printed = await child.stdout.text();
    expect(await child.exited).toBe(0);
    return printed
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown);
  }

  test.each([
    ["a script", () => [process.execPath, program]],
    ["a compiled binary", () => [binary]],
  ])("%s connects to the vetted address alone and trusts the right certificate alone", async (_, command) => {
    await using proxy = await rawReceiver(answering("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nproxy"));
    await using plain = await rawReceiver(noContent);
    await using right = await tlsReceiver(authority.issue("DNS:receiver.test"));
    await using wrong = await tlsReceiver(authority.issue("DNS:other.test"));
    const { ca } = authority;
    const address = "127.0.0.1";
    const outcomes = await outcomesOf(command(), proxy.port, [
      { url: `http://receiver.test:${plain.port}/`, address },
      { url: `https://receiver.test:${right.port}/`, address, ca },
      { url: `https://receiver.test:${right.port}/`, address },
      { url: `https://receiver.test:${wrong.port}/`, address, ca },
    ]);
    expect(outcomes).toMatchObject([
      { kind: "answered", status: 204 },
      { kind: "answered", status: 204 },
      { kind: "unreachable", error: "TLS certificate not trusted" },
      { kind: "unreachable", error: "TLS certificate does not match the host name" },
    ]);
    expect(plain.received()[0]).toContain(`Host: receiver.test:${plain.port}\r\n`);
    expect(right.requests()).toHaveLength(1);
    expect(wrong.requests()).toEqual([]);
    expect(proxy.connections()).toBe(0);
  });
});
