import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { dataDirectory, type Environment, readConfig } from "../src/config.ts";
import { DomainError } from "../src/errors.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

/** The settings of a folder with this `parley.toml`. */
function read(
  from: { toml?: string; environment?: Environment; flags?: { host?: string; port?: string } } = {},
): ReturnType<typeof readConfig> {
  using folder = temporaryFolder();
  if (from.toml !== undefined) writeFileSync(join(folder.path, "parley.toml"), from.toml);
  return readConfig(folder.path, from.environment ?? {}, from.flags);
}

/** The message about settings that do not parse. */
function messageOf(from: Parameters<typeof read>[0]): string {
  try {
    read(from);
  } catch (error) {
    expect(error).toBeInstanceOf(DomainError);
    return (error as DomainError).message;
  }
  return "";
}

describe("settings", () => {
  test("have the defaults of the specification", () => {
    expect(read()).toMatchObject({
      integrationsEnabled: true,
      apiRateLimit: 60,
      ingestRateLimit: 60,
      webhooksMaxAttempts: 5,
      webhooksTimeout: 5,
      webhooksDisableAfter: 5,
      webhooksRetentionDays: 30,
      webhooksBlockPrivateUrls: true,
      webhooksBackoffBase: 10,
    });
  });

  test("come from the flag, then the environment, then parley.toml, then the default", () => {
    const toml = "port = 1001\n";
    const environment = { PARLEY_PORT: "1002" };
    const flags = { port: "1003" };
    expect(read({ toml, environment, flags }).port).toBe(1003);
    expect(read({ toml, environment }).port).toBe(1002);
    expect(read({ toml }).port).toBe(1001);
    expect(read({ toml: "" }).port).toBe(8080);
  });

  test("that are blank in the environment count as not set", () => {
    expect(read({ toml: "port = 1001\n", environment: { PARLEY_PORT: "" } }).port).toBe(1001);
  });

  test("are named in parley.toml as in the environment, in lower case and without PARLEY_", () => {
    const toml =
      'integrations_enabled = false\nintegrations_api_rate_limit = 5\nbase_url = "https://chat.example"\n';
    expect(read({ toml })).toMatchObject({
      integrationsEnabled: false,
      apiRateLimit: 5,
      baseUrl: "https://chat.example",
    });
  });

  test.each([
    ["true", true],
    ["TRUE", true],
    ["1", true],
    ["false", false],
    ["False", false],
    ["0", false],
  ])("that are true or false take %s", (text, value) => {
    expect(read({ environment: { INTEGRATIONS_ENABLED: text } }).integrationsEnabled).toBe(value);
  });

  test("drop slashes at the end of the base URL", () => {
    expect(read({ environment: { PARLEY_BASE_URL: "https://Chat.Example/team/" } }).baseUrl).toBe(
      "https://chat.example/team",
    );
  });
});

describe("a setting that does not parse", () => {
  test.each([
    ["PARLEY_PORT", "http"],
    ["PARLEY_PORT", "65536"],
    ["PARLEY_PORT", "-1"],
    ["PARLEY_PORT", "1.5"],
    ["PARLEY_PORT", "1e3"],
    ["PARLEY_PORT", " 80"],
    ["INTEGRATIONS_ENABLED", "yes please"],
    ["INTEGRATIONS_API_RATE_LIMIT", "0"],
    ["INTEGRATIONS_API_RATE_LIMIT", "sixty"],
    ["PARLEY_BASE_URL", "chat.example"],
    ["PARLEY_BASE_URL", "ftp://chat.example"],
    ["PARLEY_LOG_LEVEL", "loud"],
    ["WEBHOOKS_VISIBILITY", "channel"],
  ])("is rejected in one line with its name, its value and the accepted values: %s=%s", (name, value) => {
    const message = messageOf({ environment: { [name]: value } });
    expect(message.split("\n")).toHaveLength(1);
    expect(message).toStartWith(`${name} is ${JSON.stringify(value)}; it takes `);
  });

  test.each([
    ["", "is neither an address nor a network"],
    ["10.1.0.0/16,", "is neither an address nor a network"],
    ["intranet", "is neither an address nor a network"],
    ["10.1.0.0/33", "is neither an address nor a network"],
    ["10.1/16", "is neither an address nor a network"],
    ["fe80::1%eth0", "is neither an address nor a network"],
    ["10.1.0.1/16", "has bits set after the first 16"],
    ["fd00:1::1/48", "has bits set after the first 48"],
    ["0.0.0.0/0", "is wider than /8"],
    ["::ffff:10.1.0.0/112", "embeds an IPv4 address"],
    ["::ffff:a01:0/112", "embeds an IPv4 address"],
    ["::/0", "is not within fc00::/7 or 2000::/3"],
    ["::/96", "is not within fc00::/7 or 2000::/3"],
    ["64:ff9b::/96", "is not within fc00::/7 or 2000::/3"],
    ["fe80::/10", "is not within fc00::/7 or 2000::/3"],
    ["2000::/3", "overlaps with 2001::/32, which embeds IPv4 addresses"],
    ["2002:a01::/32", "overlaps with 2002::/16, which embeds IPv4 addresses"],
  ])("of the allowed addresses is rejected with what is wrong: %j", (text, problem) => {
    const value = text === "" ? " " : text;
    const message = messageOf({ environment: { WEBHOOKS_ALLOW_ADDRESSES: value } });
    expect(message.split("\n")).toHaveLength(1);
    expect(message).toStartWith("WEBHOOKS_ALLOW_ADDRESSES has ");
    expect(message).toContain(`, which ${problem}`);
    expect(message).toEndWith(
      "; it takes networks and addresses like 10.1.0.0/16 and fd00:1::/48, separated by commas.",
    );
  });

  test("is rejected together with all others, wherever they come from", () => {
    const message = messageOf({
      toml: 'log_level = "loud"\ncolour = "red"\n',
      environment: { INTEGRATIONS_ENABLED: "maybe" },
      flags: { port: "http" },
    });
    expect(message.split("\n")).toHaveLength(4);
    for (const named of ["PARLEY_LOG_LEVEL", "colour", "INTEGRATIONS_ENABLED", "PARLEY_PORT"]) {
      expect(message).toContain(named);
    }
  });

  test("is rejected without its value if that is a secret", () => {
    const message = messageOf({ environment: { PARLEY_SECRET_KEY: "correct horse battery staple" } });
    expect(message).toStartWith("PARLEY_SECRET_KEY ");
    expect(message).not.toContain("horse");
  });

  test("of the database is rejected with what is wrong, and without its password", () => {
    using folder = temporaryFolder();
    const path = join(folder.path, "url");
    for (const url of ["postgres://ann:hunter2@h/d?sslmode=verify-ca", "postgres://ann:hunter2@h/d?ssl=1"]) {
      writeFileSync(path, `${url}\n`);
      const inline = messageOf({ environment: { PARLEY_DATABASE_URL: url } });
      const inFile = messageOf({ toml: `database_url_file = ${JSON.stringify(path)}\n` });
      const problem = url.endsWith("=1")
        ? "has ssl, which Parley does not know"
        : "has sslmode=verify-ca without";
      expect(inline).toContain(`PARLEY_DATABASE_URL ${problem}`);
      expect(inFile).toContain(`PARLEY_DATABASE_URL_FILE: ${path} ${problem}`);
      expect(inline + inFile).not.toContain("hunter2");
    }
    const url = "postgres://ann:hunter2@h/d?sslmode=verify-full";
    expect(read({ environment: { PARLEY_DATABASE_URL: url } }).databaseUrl).toBe(url);
  });

  test("is rejected in parley.toml as well, and so is a file that is not TOML", () => {
    expect(messageOf({ toml: "port = true\n" })).toContain("PARLEY_PORT");
    expect(messageOf({ toml: "port = = 1\n" })).toContain("parley.toml is not valid TOML");
  });

  test("is rejected if parley.toml cannot be read, which is not reported as invalid TOML", () => {
    using folder = temporaryFolder();
    mkdirSync(join(folder.path, "parley.toml"));
    expect(() => readConfig(folder.path, {})).toThrow("parley.toml cannot be read");
  });

  test("is rejected without quoting a parley.toml that is not TOML: it may contain a secret", () => {
    for (const toml of ["secret_key = c0rrectHorse\n", "secret_key: c0rrectHorse\n", "c0rrectHorse\n"]) {
      const message = messageOf({ toml });
      expect(message).toContain("parley.toml is not valid TOML");
      expect(message).not.toContain("c0rrectHorse");
    }
  });
});

describe("the data folder", () => {
  const environment = { PARLEY_DATA_DIR: "/named", XDG_DATA_HOME: "/xdg", HOME: "/home/someone" };

  test("is the one of the flag, else PARLEY_DATA_DIR, else in XDG_DATA_HOME, else in the home folder", () => {
    expect(dataDirectory("/flag", environment)).toBe("/flag");
    expect(dataDirectory(undefined, environment)).toBe("/named");
    expect(dataDirectory(undefined, { ...environment, PARLEY_DATA_DIR: "" })).toBe("/xdg/parley");
    expect(dataDirectory(undefined, { HOME: "/home/someone" })).toBe("/home/someone/.local/share/parley");
  });

  test("must be named if there is not even a home folder", () => {
    expect(() => dataDirectory(undefined, {})).toThrow("--data-dir");
  });
});
