import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DomainError } from "./errors.ts";
import { parseKey } from "./input/key.ts";
import { parseWholeNumber } from "./input/whole-number.ts";

/** How a setting is read from text; undefined for what it does not take. */
type Setting<Value> = {
  name: string;
  takes: string;
  parse: (text: string) => Value | undefined;
  fallback: Value;
  /** Whether its value must not be shown. */
  isSecret?: boolean;
};

/** Whether subscriptions are told of the whole workspace, or of what their creators may see. */
export type WebhooksVisibility = "workspace" | "creator";

const truth = { takes: "true or false", parse: parseTruth };

/** Every setting there is: its name in the environment, what it takes, and what holds without it. */
const settings = {
  integrationsEnabled: { name: "INTEGRATIONS_ENABLED", ...truth, fallback: true },
  apiRateLimit: { name: "INTEGRATIONS_API_RATE_LIMIT", ...wholeNumber(1, 1_000_000_000), fallback: 60 },
  ingestRateLimit: { name: "INTEGRATIONS_INGEST_RATE_LIMIT", ...wholeNumber(1, 1_000_000_000), fallback: 60 },
  webhooksMaxAttempts: { name: "WEBHOOKS_MAX_ATTEMPTS", ...wholeNumber(1, 100), fallback: 5 },
  /** In seconds, from connecting to the last header. */
  webhooksTimeout: { name: "WEBHOOKS_TIMEOUT", ...seconds(0.1, 300), fallback: 5 },
  /** In seconds, before the second attempt; six times as long before each one after. */
  webhooksBackoffBase: { name: "WEBHOOKS_BACKOFF_BASE", ...seconds(0.001, 86_400), fallback: 10 },
  webhooksDisableAfter: { name: "WEBHOOKS_DISABLE_AFTER", ...wholeNumber(1, 1_000_000_000), fallback: 5 },
  /** 0 keeps every attempt for ever. */
  webhooksRetentionDays: {
    name: "WEBHOOKS_DELIVERY_RETENTION_DAYS",
    ...wholeNumber(0, 36_500),
    fallback: 30,
  },
  /** Of which channels a subscription is told: of all, or of those that its creator may see. */
  webhooksVisibility: {
    name: "WEBHOOKS_VISIBILITY",
    ...oneOf(["workspace", "creator"]),
    fallback: "workspace" as WebhooksVisibility,
  },
  /** For each team. */
  webhooksMaxSubscriptions: {
    name: "WEBHOOKS_MAX_SUBSCRIPTIONS",
    ...wholeNumber(1, 1_000_000),
    fallback: 1_000,
  },
  webhooksBlockPrivateUrls: { name: "WEBHOOKS_BLOCK_PRIVATE_URLS", ...truth, fallback: true },
  /** Empty: the key file in the data folder. */
  secretKey: {
    name: "PARLEY_SECRET_KEY",
    takes: "32 bytes in base64 or hex",
    parse: (text: string) => (parseKey(text) ? text : undefined),
    fallback: "",
    isSecret: true,
  },
  /** Empty: no directory is served. */
  scimToken: {
    name: "SCIM_TOKEN",
    takes: "visible characters without spaces and commas",
    // What a header can carry, and what is not taken for the end of the token there.
    parse: (text: string) => (/^[!-+\--~]+$/.test(text) ? text : undefined),
    fallback: "",
    isSecret: true,
  },
  /** Empty: the only team there is. */
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
  /** Empty: made from the host and the port. */
  baseUrl: { name: "PARLEY_BASE_URL", takes: "an http or https address", parse: parseBaseUrl, fallback: "" },
  logLevel: {
    name: "PARLEY_LOG_LEVEL",
    ...oneOf(["trace", "debug", "info", "warn", "error", "fatal", "silent"]),
    fallback: "info",
  },
} satisfies Record<string, Setting<unknown>>;

export type Config = { [Key in keyof typeof settings]: (typeof settings)[Key]["fallback"] };

/** Settings as the command line gives them. */
type Flags = { [Key in keyof Config]?: string | undefined };

export type Environment = Readonly<Record<string, string | undefined>>;

/** The environment that this process was started with; whoever needs it is given it. */
export const processEnvironment: Environment = process.env;

/** How many requests Bun lets a process have under way that was started with this environment. */
export function requestsAllowed({ BUN_CONFIG_MAX_HTTP_REQUESTS: set }: Environment): number {
  return Number(set) || 256;
}

/** Tells the libraries that look into the environment by themselves that no colours are wanted. */
export function forbidColor(): void {
  process.env.NO_COLOR = "1";
}

/**
 * The data folder: the flag, else `PARLEY_DATA_DIR`, else `$XDG_DATA_HOME/parley`, else `~/.local/share/parley`.
 * @throws DomainError `usage` when none of them is there.
 */
export function dataDirectory(flag: string | undefined, environment: Environment): string {
  const named = flag || environment.PARLEY_DATA_DIR;
  if (named) return named;
  if (environment.XDG_DATA_HOME) return join(environment.XDG_DATA_HOME, "parley");
  if (environment.HOME) return join(environment.HOME, ".local", "share", "parley");
  throw new DomainError("usage", "There is no home folder: say where the data is with --data-dir DIR.");
}

/**
 * The settings: a flag beats the environment, which beats `parley.toml` in the data folder, which beats the default.
 * A blank value in the environment counts as not set.
 * @throws DomainError `invalid` with a line for every setting that does not parse: its name, value and what it takes.
 */
export function readConfig(dataDir: string, environment: Environment, flags: Flags = {}): Config {
  const file = readToml(join(dataDir, "parley.toml"));
  const keys = Object.keys(settings) as Array<keyof Config>;
  return parseSettings(keys, { file, environment, flags }, unknownKeys(file));
}

/**
 * One setting, whatever stands in the others.
 * @throws DomainError `invalid` when it does not parse, or `parley.toml` cannot be read.
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

/** `PARLEY_PORT` is `port` in the file, `INTEGRATIONS_ENABLED` is `integrations_enabled`. */
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
    // The parser quotes what it stumbles over, which may be a secret, and knows no line.
    throw new DomainError("invalid", `${path} is not valid TOML. Text has to stand in quotes: key = "value"`);
  }
}

function unknownKeys(file: Map<string, string>): string[] {
  const known = Object.values(settings).map(({ name }) => tomlKey(name));
  return [...file.keys()]
    .filter((key) => !known.includes(key))
    .map((key) => `parley.toml has ${key}, which is not a setting; there are ${known.join(", ")}.`);
}

function parseTruth(text: string): boolean | undefined {
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
