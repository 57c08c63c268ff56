import { type AddressBlock, parseAddressBlocks } from "./input/address-block.ts";
import { parseAllowedNetworks } from "./input/allowed-networks.ts";
import { readCertificateFile } from "./input/certificate-file.ts";
import { parseDatabaseUrl } from "./input/database-url.ts";
import { parseListenAddress } from "./input/listen-address.ts";
import { parseKey } from "./input/secret-key.ts";
import { parseWholeNumber } from "./input/whole-number.ts";

/** A setting. `parse` reads it from text and returns undefined for a value that it does not take. */
export type Setting<Value> = {
  name: string;
  takes: string;
  parse: (text: string) => Value | undefined;
  fallback: Value;
  /** What is wrong with a value that it does not take, where that can be said; it must not quote a secret. */
  problemOf?: (text: string) => string;
  /** Whether error messages must not show the value, and the name with `_FILE` names a file that holds it. */
  isSecret?: boolean;
};

/** Whether subscriptions receive events of the whole workspace, or only those that their creators may see. */
export type WebhooksVisibility = "workspace" | "creator";

const allowedNetworks = "networks and addresses like 10.1.0.0/16 and fd00:1::/48, separated by commas";

const certificateFile = "the absolute path of a file with certificates of authorities in PEM";

const trueOrFalse = { takes: "true or false", parse: parseBoolean };

/** All settings: the name in the environment, the accepted values, and the default. */
export const settings = {
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
  /** The certificates of authorities that receivers' certificates may be from, each in PEM, beside the usual ones. */
  webhooksCaFile: {
    name: "WEBHOOKS_CA_FILE",
    takes: certificateFile,
    parse: (path: string) => {
      const read = readCertificateFile(path);
      return "problem" in read ? undefined : read.certificates;
    },
    problemOf: (path: string) => {
      const read = readCertificateFile(path);
      return "problem" in read ? `is ${path}, which ${read.problem}; it takes ${certificateFile}` : "";
    },
    fallback: [] as string[],
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
  /** Exceptions to the setting before. Empty: there are none. */
  webhooksAllowAddresses: {
    name: "WEBHOOKS_ALLOW_ADDRESSES",
    takes: allowedNetworks,
    parse: (text: string) => {
      const networks = parseAllowedNetworks(text);
      return "problem" in networks ? undefined : networks;
    },
    problemOf: (text: string) => {
      const networks = parseAllowedNetworks(text);
      return "problem" in networks ? `${networks.problem}; it takes ${allowedNetworks}` : "";
    },
    fallback: [] as AddressBlock[],
  },
  /** Empty: SQLite in the data folder. */
  databaseUrl: {
    name: "PARLEY_DATABASE_URL",
    takes: "the postgres:// address of a PostgreSQL database",
    parse: (text: string) => ("problem" in parseDatabaseUrl(text) ? undefined : text),
    problemOf: (text: string) => {
      const url = parseDatabaseUrl(text);
      return "problem" in url ? url.problem : "";
    },
    fallback: "",
    isSecret: true,
  },
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
  /** Empty: there are no metrics. */
  metricsAddress: {
    name: "PARLEY_METRICS_ADDRESS",
    takes: "an address and a port, such as 127.0.0.1:9464",
    parse: (text: string) => (parseListenAddress(text) ? text : undefined),
    fallback: "",
  },
  /** Empty: nobody is believed about a client's address. */
  trustedProxies: {
    name: "PARLEY_TRUSTED_PROXIES",
    takes: "IP addresses and networks like 10.0.0.0/8, separated by commas",
    parse: parseAddressBlocks,
    fallback: [] as AddressBlock[],
  },
  /** Empty: traces are off. Secret, since the address may hold a password. */
  otlpEndpoint: {
    name: "PARLEY_OTLP_ENDPOINT",
    takes: "the http or https address of an OpenTelemetry collector",
    parse: parseEndpoint,
    fallback: "",
    isSecret: true,
  },
  logLevel: {
    name: "PARLEY_LOG_LEVEL",
    ...oneOf(["trace", "debug", "info", "warn", "error", "fatal", "silent"]),
    fallback: "info",
  },
} satisfies Record<string, Setting<unknown>>;

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

/** Unlike a base URL it keeps a user name and a password. */
function parseEndpoint(text: string): string | undefined {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return undefined;
  const { href, search, hash } = new URL(text);
  return search === "" && hash === "" ? href.replace(/[/?#]+$/, "") : undefined;
}

function parseBaseUrl(text: string): string | undefined {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return undefined;
  const { origin, pathname, search, hash } = new URL(text);
  return search === "" && hash === "" ? origin + pathname.replace(/\/+$/, "") : undefined;
}
