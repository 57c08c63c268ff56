import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DomainError } from "./errors.ts";
import { readSecretFile } from "./input/secret-file.ts";
import { type Setting, settings } from "./settings.ts";

/** The value of every setting. */
export type Config = { [Key in keyof typeof settings]: (typeof settings)[Key]["fallback"] };

/** Settings given as command-line flags. */
type Flags = { [Key in keyof Config]?: string | undefined };

/** Where settings come from. */
type Sources = { file: Map<string, string>; environment: Environment; flags: Flags };

/** Where a setting's value comes from. */
export type Place = "flag" | "environment" | "parley.toml" | "default";

/** The text of a setting, the name under which it was given, and where. */
type Given = { name: string; text: string; place: Place };

/** A setting as `parley config show` shows it. */
export type ShownSetting = {
  name: string;
  /** As it is used; of a secret only `set`; null when there is none, or the setting is invalid. */
  value: string | number | boolean | null;
  source: Place;
  /** The file that holds the secret, if the setting names one. */
  file: string | null;
  /** Why the setting is invalid, in a sentence. */
  problem: string | null;
};

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
 * default. A blank environment variable counts as not set. In the environment and in `parley.toml`, the name of a secret
 * with `_FILE` names a file that holds it instead.
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

/** The files that settings name and that hold secrets, with the names of those settings. */
export function secretFiles(
  dataDir: string,
  environment: Environment,
): Array<{ name: string; path: string }> {
  const sources = { file: readToml(join(dataDir, "parley.toml")), environment, flags: {} };
  return Object.values<Setting<unknown>>(settings).flatMap((setting) => {
    const given = fromSources(setting, sources);
    return given === undefined || given.name === setting.name ? [] : [{ name: given.name, path: given.text }];
  });
}

/** The names of all settings in the environment, with those that take the path of a file instead. */
export function settingNames(): string[] {
  return Object.values<Setting<unknown>>(settings).flatMap(namesOf);
}

/**
 * Shows the data folder and every setting: value, source and what is wrong with it. `problems` are those of
 * `parley.toml` as a whole, in sentences. Never throws for a setting, and never shows a secret.
 */
export function showSettings(
  dataDir: string,
  environment: Environment,
  flags: Flags & { dataDir?: string | undefined } = {},
): { settings: ShownSetting[]; problems: string[] } {
  const problems: string[] = [];
  let file = new Map<string, string>();
  try {
    file = readToml(join(dataDir, "parley.toml"));
    problems.push(...unknownKeys(file));
  } catch (error) {
    problems.push(messageOf(error));
  }
  const given = environment.PARLEY_DATA_DIR ? "environment" : "default";
  const folder = {
    name: "PARLEY_DATA_DIR",
    value: dataDir,
    source: flags.dataDir ? ("flag" as const) : (given as Place),
    file: null,
    problem: null,
  };
  const keys = Object.keys(settings) as Array<keyof Config>;
  return { settings: [folder, ...keys.map((key) => show(key, { file, environment, flags }))], problems };
}

function show(key: keyof Config, sources: Sources): ShownSetting {
  const setting: Setting<unknown> = settings[key];
  const shown = { name: setting.name, value: null, source: "default" as Place, file: null, problem: null };
  try {
    const given = givenTo(key, sources);
    if (given === undefined) return { ...shown, value: plain(setting, setting.fallback, "") };
    const file = given.name === setting.name ? null : given.text;
    const found = { ...shown, source: given.place, file };
    try {
      return { ...found, value: plain(setting, valueOf(setting, given), given.text) };
    } catch (error) {
      return { ...found, problem: messageOf(error) };
    }
  } catch (error) {
    const isInEnvironment = namesOf(setting).some((name) => sources.environment[name]);
    return { ...shown, source: isInEnvironment ? "environment" : "parley.toml", problem: messageOf(error) };
  }
}

/** A setting's value as JSON has it; of a list the text that it was read from. */
function plain({ isSecret }: Setting<unknown>, value: unknown, text: string): ShownSetting["value"] {
  if (value === "" || value === undefined) return null;
  if (isSecret) return "set";
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value;
  return text || null;
}

/** @throws the error, unless it says what is wrong with a setting. */
function messageOf(error: unknown): string {
  if (error instanceof DomainError) return error.message;
  throw error;
}

/** The text of the setting as it was given, by a flag or elsewhere. */
function givenTo(key: keyof Config, sources: Sources): Given | undefined {
  const flag = sources.flags[key];
  return flag === undefined
    ? fromSources(settings[key], sources)
    : { name: settings[key].name, text: flag, place: "flag" };
}

function parseSettings<Key extends keyof Config>(
  keys: readonly Key[],
  sources: Sources,
  problems: string[] = [],
): Pick<Config, Key> {
  const config: Record<string, unknown> = {};
  for (const key of keys) {
    const setting: Setting<unknown> = settings[key];
    try {
      const given = givenTo(key, sources);
      config[key] = given === undefined ? setting.fallback : valueOf(setting, given);
    } catch (error) {
      problems.push(messageOf(error));
    }
  }
  if (problems.length > 0) throw new DomainError("invalid", problems.join("\n"));
  return config as Pick<Config, Key>;
}

/**
 * The text of a setting in the environment, or else in `parley.toml`; or the path of the file with its text, under the
 * file's name.
 * @throws DomainError `invalid` when one of them has both.
 */
function fromSources(setting: Setting<unknown>, { environment, file }: Sources): Given | undefined {
  const names = namesOf(setting);
  const places = [
    { place: "environment" as const, textOf: (name: string) => environment[name] || undefined },
    { place: "parley.toml" as const, textOf: (name: string) => file.get(tomlKey(name)) },
  ];
  for (const { place, textOf } of places) {
    const given = names.flatMap((name): Given[] => {
      const text = textOf(name);
      return text === undefined ? [] : [{ name, text, place }];
    });
    if (given.length > 1)
      throw new DomainError(
        "invalid",
        `${names.join(" and ")} are both set in ${place === "environment" ? "the environment" : place}. Remove one of them.`,
      );
    if (given[0]) return given[0];
  }
  return undefined;
}

function valueOf(setting: Setting<unknown>, { name, text }: Given): unknown {
  if (name === setting.name) {
    const value = setting.parse(text);
    if (value !== undefined) return value;
    if (setting.problemOf) throw new DomainError("invalid", `${name} ${setting.problemOf(text)}.`);
    const shown = setting.isSecret ? "set to something else" : JSON.stringify(text);
    throw new DomainError("invalid", `${name} is ${shown}; it takes ${setting.takes}.`);
  }
  const read = readSecretFile(text);
  if ("problem" in read) throw new DomainError("invalid", `${name}: ${text} ${read.problem}.`);
  const value = setting.parse(read.text);
  if (value !== undefined) return value;
  if (setting.problemOf)
    throw new DomainError("invalid", `${name}: ${text} ${setting.problemOf(read.text)}.`);
  throw new DomainError("invalid", `${name}: ${text} holds something else; it takes ${setting.takes}.`);
}

/** The setting's name and, for a secret, the name that takes the path of a file instead. */
function namesOf({ name, isSecret }: Setting<unknown>): string[] {
  return isSecret ? [name, `${name}_FILE`] : [name];
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
  const known = settingNames().map(tomlKey);
  return [...file.keys()]
    .filter((key) => !known.includes(key))
    .map((key) => `parley.toml has ${key}, which is not a setting; the settings are ${known.join(", ")}.`);
}
