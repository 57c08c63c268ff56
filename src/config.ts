import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DomainError } from "./errors.ts";
import { type Setting, settings } from "./settings.ts";

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
