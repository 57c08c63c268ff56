import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DomainError } from "./errors.ts";
import { parseKey } from "./input/secret-key.ts";
import { parseWholeNumber } from "./input/whole-number.ts";

/** A setting. `parse` reads it from text and returns undefined for a value that it does not take. */
type Setting<Value> = {
  name: string;
  takes: string;
  parse: (text: string) => Value | undefined;
  fallback: Value;
  /** Whether error messages must not show the value. */
  isSecret?: boolean;
};

/** Whether subscriptions receive events of the whole workspace, or only those that their creators may see. */
export type WebhooksVisibility = "workspace" | "creator";

const trueOrFalse = { takes: "true or false", parse: parseBoolean };

/** All settings: the name in the environment, the accepted values, and the default. */
const settings = {
  integrationsEnabled: { name: "INTEGRATIONS_ENABLED", ...trueOrFalse, fallback: true },
  apiRateLimit: { name: "INTEGRATIONS_API_RATE_LIMIT", ...wholeNumber(1, 1_000_000_000), fallback: 60 },
  ingestRateLimit: { name: "INTEGRATIONS_INGEST_RATE_LIMIT", ...wholeNumber(1, 1_000_000_000), fallback: 60 },
  webhooksMaxAttempts: { name: "WEBHOOKS_MAX_ATTEMPTS", ...wholeNumber(1, 100), fallback: 5 },
  /** In seconds, from connecting to the last response header. */
  webhooksTimeout: { name: "WEBHOOKS_TIMEOUT", ...seconds(0.1, 300), fallback: 5 },
  /** In seconds, before the second attempt; multiplied by six before each further attempt. */
  webhooksBackoffBase: { name: "WEBHOOKS_BACKOFF_BASE", ...seconds(0.001, 86_400), fallback: 10 },
  webhooksDisableAfter: { name: "WEBHOOKS_DISABLE_AFTER", ...wholeNumber(1, 1_000_000_000), fallback: 5 },
  /** In days; 0 keeps attempts forever. */
  webhooksRetentionDays: {
    name: "WEBHOOKS_DELIVERY_RETENTION_DAYS",
    ...wholeNumber(0, 36_500),
    fallback: 30,
  },
  /** Which channels' events a subscription receives: all, or those that its creator may see. */
  webhooksVisibility: {
    name: "WEBHOOKS_VISIBILITY",
    ...oneOf(["workspace", "creator"]),
    fallback: "workspace" as WebhooksVisibility,
  },
  /** Per team. */
  webhooksMaxSubscriptions: {
    name: "WEBHOOKS_MAX_SUBSCRIPTIONS",
    ...wholeNumber(1, 1_000_000),
    fallback: 1_000,
  },
  webhooksBlockPrivateUrls: { name: "WEBHOOKS_BLOCK_PRIVATE_URLS", ...trueOrFalse, fallback: true },
  /** Empty: use the key file in the data folder. */
  secretKey: {
    name: "PARLEY_SECRET_KEY",
    takes: "32 bytes in base64 or hex",
    parse: (text: string) => (parseKey(text) ? text : undefined),
    fallback: "",
    isSecret: true,
  },
  /** Empty: SCIM is off. */
  scimToken: {
    name: "SCIM_TOKEN",
    takes: "visible characters without spaces and commas",
    // Characters that a header can carry, without those that end the token there.
    parse: (text: string) => (/^[!-+\--~]+$/.test(text) ? text : undefined),
    fallback: "",
    isSecret: true,
  },
  /** Empty: the only team. */
  scimTeam: {
    name: "SCIM_TEAM",
    takes: "a team's slug, name or id",
    parse: (text: string) => text,
    fallback: "",
  },
  host: {
    name: "PARLEY_HOST",
    takes: "an address to listen on",
    parse: (text: string) => text,
    fallback: "127.0.0.1",
  },
  port: { name: "PARLEY_PORT", ...wholeNumber(0, 65_535), fallback: 8080 },
  /** Empty: built from the host and port. */
  baseUrl: { name: "PARLEY_BASE_URL", takes: "an http or https address", parse: parseBaseUrl, fallback: "" },
  logLevel: {
    name: "PARLEY_LOG_LEVEL",
    ...oneOf(["trace", "debug", "info", "warn", "error", "fatal", "silent"]),
    fallback: "info",
  },
} satisfies Record<string, Setting<unknown>>;

/** The value of every setting. */
export type Config = { [Key in keyof typeof settings]: (typeof settings)[Key]["fallback"] };

/** Settings given as command-line flags. */
type Flags = { [Key in keyof Config]?: string | undefined };

export type Environment = Readonly<Record<string, string | undefined>>;

/** The environment of this process. Code that needs it receives it as a parameter. */
export const processEnvironment: Environment = process.env;

/** The maximum number of concurrent requests that Bun's HTTP client allows a process with this environment. */
export function requestsAllowed({ BUN_CONFIG_MAX_HTTP_REQUESTS: set }: Environment): number {
  return Number(set) || 256;
}

/** Turns colors off in libraries that read the environment themselves. */
export function forbidColor(): void {
  process.env.NO_COLOR = "1";
}

/**
 * The data folder: the flag, else `PARLEY_DATA_DIR`, else `$XDG_DATA_HOME/parley`, else `~/.local/share/parley`.
 * @throws DomainError `usage` when none of them is set.
 */
export function dataDirectory(flag: string | undefined, environment: Environment): string {
  const named = flag || environment.PARLEY_DATA_DIR;
  if (named) return named;
  if (environment.XDG_DATA_HOME) return join(environment.XDG_DATA_HOME, "parley");
  if (environment.HOME) return join(environment.HOME, ".local", "share", "parley");
  throw new DomainError("usage", "There is no home folder. Name the data folder with --data-dir DIR.");
}

/**
 * Reads all settings. A flag takes precedence over the environment, then `parley.toml` in the data folder, then the
 * default. A blank environment variable counts as not set.
 * @throws DomainError `invalid` with one line per invalid setting: its name, its value and the accepted values.
 */
export function readConfig(dataDir: string, environment: Environment, flags: Flags = {}): Config {
  const file = readToml(join(dataDir, "parley.toml"));
  const keys = Object.keys(settings) as Array<keyof Config>;
  return parseSettings(keys, { file, environment, flags }, unknownKeys(file));
}

/**
 * Reads one setting, even if others are invalid.
 * @throws DomainError `invalid` when it is invalid, or `parley.toml` cannot be read.
 */
export function readSetting<Key extends keyof Config>(
  key: Key,
  dataDir: string,
  environment: Environment,
): Pick<Config, Key> {
  return parseSettings([key], { file: readToml(join(dataDir, "parley.toml")), environment, flags: {} });
}

function parseSettings<Key extends keyof Config>(
  keys: readonly Key[],
  { file, environment, flags }: { file: Map<string, string>; environment: Environment; flags: Flags },
  problems: string[] = [],
): Pick<Config, Key> {
  const config: Record<string, unknown> = {};
  for (const key of keys) {
    const setting: Setting<unknown> = settings[key];
    const text = flags[key] ?? (environment[setting.name] || undefined) ?? file.get(tomlKey(setting.name));
    const value = text === undefined ? setting.fallback : setting.parse(text);
    const shown = setting.isSecret ? "set to something else" : JSON.stringify(text);
    if (value === undefined) problems.push(`${setting.name} is ${shown}; it takes ${setting.takes}.`);
    config[key] = value;
  }
  if (problems.length > 0) throw new DomainError("invalid", problems.join("\n"));
  return config as Pick<Config, Key>;
}

/** The key in `parley.toml`: `port` for `PARLEY_PORT`, `integrations_enabled` for `INTEGRATIONS_ENABLED`. */
function tomlKey(name: string): string {
  return name.replace(/^PARLEY_/, "").toLowerCase();
}

function readToml(path: string): Map<string, string> {
  if (!existsSync(path)) return new Map();
  const entries = Object.entries(parseToml(path, readText(path)));
  return new Map(entries.map(([key, value]) => [key, String(value)]));
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new DomainError(
      "invalid",
      `${path} cannot be read: ${error instanceof Error ? error.message : ""}`,
    );
  }
}

function parseToml(path: string, text: string): object {
  try {
    return Bun.TOML.parse(text);
  } catch {
    // The parser's message quotes the offending text, which may be a secret, and has no line number.
    throw new DomainError("invalid", `${path} is not valid TOML. Text must be in quotes: key = "value"`);
  }
}

function unknownKeys(file: Map<string, string>): string[] {
  const known = Object.values(settings).map(({ name }) => tomlKey(name));
  return [...file.keys()]
    .filter((key) => !known.includes(key))
    .map((key) => `parley.toml has ${key}, which is not a setting; the settings are ${known.join(", ")}.`);
}

function parseBoolean(text: string): boolean | undefined {
  const word = text.toLowerCase();
  if (word === "true" || word === "1") return true;
  return word === "false" || word === "0" ? false : undefined;
}

function wholeNumber(least: number, most: number) {
  return {
    takes: `a whole number from ${least} to ${most}`,
    parse: (text: string) => parseWholeNumber(text, least, most),
  };
}

function seconds(least: number, most: number) {
  return {
    takes: `a number of seconds from ${least} to ${most}`,
    parse: (text: string): number | undefined => {
      const value = /^[0-9]{1,9}(\.[0-9]{1,6})?$/.test(text) ? Number(text) : Number.NaN;
      return value >= least && value <= most ? value : undefined;
    },
  };
}

function oneOf<Word extends string>(words: readonly Word[]) {
  return {
    takes: `one of ${words.join(", ")}`,
    parse: (text: string): Word | undefined => words.find((word) => word === text),
  };
}

function parseBaseUrl(text: string): string | undefined {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return undefined;
  const { origin, pathname, search, hash } = new URL(text);
  return search === "" && hash === "" ? origin + pathname.replace(/\/+$/, "") : undefined;
}
