import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { settings } from "../../src/settings.ts";
import { unknownSettings } from "../../src/unknown-settings.ts";
import { onTerminal, run } from "../support/cli.ts";
import { startServer } from "../support/server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

type Shown = {
  settings: Array<{
    name: string;
    value: unknown;
    source: string;
    file: string | null;
    problem: string | null;
  }>;
  problems: string[];
  unknown: Array<{ name: string; nearest: string | null }>;
};

const key = "a".repeat(64);

/** What `config show --json` shows of a folder with this `parley.toml`, in this environment. */
async function show(toml: string, environment: Record<string, string> = {}, args: string[] = []) {
  using folder = temporaryFolder();
  writeFileSync(join(folder.path, "parley.toml"), toml);
  const ran = await run(folder.path, ["config", "show", "--json", ...args], environment);
  const { data } = JSON.parse(ran.stdout) as { data: Shown };
  const of = (name: string) => data.settings.find((setting) => setting.name === name);
  return { ...ran, data, of, path: folder.path };
}

describe("config show", () => {
  test("lists every setting with its value and where it comes from", async () => {
    const shown = await show('port = 9000\nwebhooks_timeout = "2.5"\ntrusted_proxies = "::1"\n', {
      PARLEY_PORT: "9001",
      INTEGRATIONS_ENABLED: "no",
      PARLEY_BASE_URL: "",
    });
    expect(shown.status).toBe(0);
    const names = Object.values(settings).map(({ name }) => name);
    expect(shown.data.settings.map(({ name }) => name)).toEqual(["PARLEY_DATA_DIR", ...names]);
    const rest = { file: null, problem: null };
    expect(shown.of("PARLEY_DATA_DIR")).toMatchObject({ value: shown.path, source: "environment" });
    expect(shown.of("PARLEY_PORT")).toMatchObject({ value: 9001, source: "environment", ...rest });
    expect(shown.of("WEBHOOKS_TIMEOUT")).toMatchObject({ value: 2.5, source: "parley.toml", ...rest });
    expect(shown.of("PARLEY_TRUSTED_PROXIES")).toMatchObject({ value: "::1", source: "parley.toml" });
    expect(shown.of("WEBHOOKS_BLOCK_PRIVATE_URLS")).toMatchObject({ value: true, source: "default" });
    expect(shown.of("PARLEY_BASE_URL")).toMatchObject({ value: null, source: "default", ...rest });
  });

  test("names the flag as the source of the data folder", async () => {
    using folder = temporaryFolder();
    const { of } = await show("", {}, ["--data-dir", folder.path]);
    expect(of("PARLEY_DATA_DIR")).toMatchObject({ value: folder.path, source: "flag" });
  });

  test("never prints a secret, valid or not, wherever it comes from", async () => {
    using secrets = temporaryFolder();
    const file = join(secrets.path, "token");
    writeFileSync(file, "c0rrectHorseBatteryStaple-c0rrectHorse\n", { mode: 0o600 });
    const shown = await show(`secret_key = "${key}"\n`, { SCIM_TOKEN_FILE: file });
    expect(shown.of("PARLEY_SECRET_KEY")).toMatchObject({ value: "set", source: "parley.toml", file: null });
    expect(shown.of("SCIM_TOKEN")).toMatchObject({ value: "set", source: "environment", file });
    const wrong = await show("", { PARLEY_SECRET_KEY: "c0rrectHorse", SCIM_TOKEN: "c0rrect Horse" });
    expect(wrong.of("PARLEY_SECRET_KEY")?.problem).toContain("takes 32 bytes");
    for (const { stdout, stderr } of [shown, wrong]) {
      expect(stdout + stderr).not.toContain(key);
      expect(stdout + stderr).not.toMatch(/horse/i);
    }
  });

  test("shows what is invalid as invalid, says why, and shows the rest", async () => {
    const shown = await show('log_level = "loud"\ncolour = "red"\n', {
      PARLEY_PORT: "http",
      SCIM_TOKEN: "x",
      SCIM_TOKEN_FILE: "/nowhere",
      PARLEY_HOST: "::1",
    });
    expect(shown.status).toBe(0);
    expect(shown.of("PARLEY_PORT")).toMatchObject({ value: null, source: "environment" });
    expect(shown.of("PARLEY_PORT")?.problem).toStartWith('PARLEY_PORT is "http"; it takes a whole number');
    expect(shown.of("PARLEY_LOG_LEVEL")).toMatchObject({ value: null, source: "parley.toml" });
    expect(shown.of("SCIM_TOKEN")?.problem).toContain("SCIM_TOKEN and SCIM_TOKEN_FILE are both set");
    expect(shown.of("PARLEY_HOST")).toMatchObject({ value: "::1", problem: null });
    expect(shown.data.problems).toHaveLength(1);
    expect(shown.data.problems[0]).toStartWith("parley.toml has colour, which is not a setting");
  });

  test("says that parley.toml is not TOML, and shows the environment all the same", async () => {
    const shown = await show("port = = 1\n", { PARLEY_HOST: "::1" });
    expect(shown.data.problems[0]).toContain("parley.toml is not valid TOML");
    expect(shown.of("PARLEY_HOST")).toMatchObject({ value: "::1", source: "environment" });
  });

  test("warns of names in the environment that are no settings, with the nearest that is one", async () => {
    const { data } = await show("", {
      PARLEY_PROT: "1",
      WEBHOOK_TIMEOUT: "not ours",
      WEBHOOKS_TIMOUT: "1",
      INTEGRATIONS_RATE_LIMIT: "1",
      SCIM_SECRET_FILE: "1",
      PARLEY_STORAGE_OF_MESSAGES: "1",
      PARLEY_BLANK: "",
      PARLEY_LISTEN_SECRET: "1",
    });
    expect(data.unknown).toEqual([
      { name: "INTEGRATIONS_RATE_LIMIT", nearest: "INTEGRATIONS_API_RATE_LIMIT" },
      { name: "PARLEY_PROT", nearest: "PARLEY_PORT" },
      { name: "PARLEY_STORAGE_OF_MESSAGES", nearest: null },
      { name: "SCIM_SECRET_FILE", nearest: "SCIM_TOKEN_FILE" },
      { name: "WEBHOOKS_TIMOUT", nearest: "WEBHOOKS_TIMEOUT" },
    ]);
  });

  test("fits 80 columns on a terminal, and says there what is wrong", async () => {
    using folder = temporaryFolder();
    const environment = {
      PARLEY_PROT: "1",
      PARLEY_PORT: "http",
      PARLEY_BASE_URL: `https://${"a".repeat(60)}.example`,
    };
    await using screen = onTerminal(folder.path, ["config", "show"], environment);
    expect(await screen.ended()).toBe(0);
    const rows = screen.text.split("\n").filter((line) => /^(SETTING|[A-Z]+_[A-Z_]+ )/.test(line));
    expect(rows.length).toBeGreaterThanOrEqual(Object.keys(settings).length + 1);
    for (const row of rows) expect(Bun.stringWidth(row), row).toBeLessThanOrEqual(80);
    expect(screen.text).toMatch(/^PARLEY_PORT +invalid +environment$/m);
    // Long sentences go on in the next line.
    const prose = screen.text.replaceAll(/\s+/g, " ");
    expect(prose).toContain('PARLEY_PORT is "http"; it takes');
    expect(prose).toContain("PARLEY_PROT, which is not a setting. Did you mean PARLEY_PORT?");
  });
});

test("the server warns of unknown names once, in one line of its log", async () => {
  await using server = await startServer({ environment: { PARLEY_PROT: "1", WEBHOOKS_TIMOUT: "1" } });
  const line = await server.logLine(({ msg }) => msg === "settings.unknown");
  expect(line).toMatchObject({ level: 40, names: ["PARLEY_PROT", "WEBHOOKS_TIMOUT"] });
  expect(line.reason).toContain("Did you mean PARLEY_PORT?");
});

test("no name that parley reads, or that its documents use, counts as unknown", async () => {
  const root = join(import.meta.dir, "..", "..");
  const names = new Set<string>();
  for (const file of new Bun.Glob("{src,cli,docs}/**/*.{ts,md}").scanSync({ cwd: root })) {
    const text = readFileSync(join(root, file), "utf8");
    // In code what is read, in documents what is used as a variable or set.
    const uses = file.endsWith(".ts")
      ? /\benvironment\.((?:PARLEY|WEBHOOKS|INTEGRATIONS|SCIM)_[A-Z_]+)/g
      : /(?:\$\{?|^export |^)((?:PARLEY|WEBHOOKS|INTEGRATIONS|SCIM)_[A-Z_]+)\b(?=[}"/]|=)/gm;
    for (const [, name = ""] of text.matchAll(uses)) names.add(name);
  }
  expect(names.size).toBeGreaterThan(4);
  expect(unknownSettings(Object.fromEntries([...names].map((name) => [name, "1"])))).toEqual([]);
});
