import { type Environment, settingNames } from "./config.ts";
import { nearest } from "./input/nearest.ts";

/** What the names of our settings begin with. */
const ours = /^(?:PARLEY|WEBHOOKS|INTEGRATIONS|SCIM)_/;

/** Names that are no settings: commands read the first two, and the examples in our documents use the others. */
const otherNames = [
  "PARLEY_DATA_DIR",
  "PARLEY_LISTEN_SECRET",
  "PARLEY_URL",
  "PARLEY_TOKEN",
  "PARLEY_CHANNEL",
  "PARLEY_MESSAGE",
  "PARLEY_SUBSCRIPTION",
];

/** A name in the environment that looks like a setting and is none; `nearest` is the setting that may be meant. */
export type UnknownSetting = { name: string; nearest: string | null };

/** Returns the names in the environment that look like settings and are none. Blank ones do not count. */
export function unknownSettings(environment: Environment): UnknownSetting[] {
  const known = [...settingNames(), ...otherNames];
  return Object.keys(environment)
    .filter((name) => ours.test(name) && environment[name] && !known.includes(name))
    .toSorted()
    .map((name) => ({ name, nearest: nearest(name, known) ?? null }));
}

/** Says in a sentence that there is no such setting, and which one may be meant. */
export function whyUnknown({ name, nearest: meant }: UnknownSetting): string {
  const hint = meant === null ? "" : ` Did you mean ${meant}?`;
  return `The environment has ${name}, which is not a setting.${hint}`;
}
