/** How a connection is encrypted, and what of the server is checked, by libpq's names. */
export type TlsMode = "disable" | "prefer" | "require" | "verify-ca" | "verify-full";

/** Where a PostgreSQL is, and how to log in there. */
export type DatabaseUrl = {
  /** Tried in this order. A host that begins with `/` is the folder of a Unix socket. */
  hosts: Array<{ host: string; port: number }>;
  user: string | undefined;
  password: string;
  database: string | undefined;
  tls: {
    mode: TlsMode;
    /** Paths of PEM files: the authority to trust, and the client's certificate with its key. */
    rootFile: string | undefined;
    certificateFile: string | undefined;
    keyFile: string | undefined;
  };
  channelBinding: "disable" | "prefer" | "require";
  /** Whether a server that takes no writes is passed over. */
  needsPrimary: boolean;
  /** For each host. */
  connectTimeoutSeconds: number;
  applicationName: string;
  /** Command-line options for the server's process. */
  options: string;
};

const parameters = [
  "application_name",
  "channel_binding",
  "connect_timeout",
  "dbname",
  "host",
  "options",
  "password",
  "port",
  "sslcert",
  "sslkey",
  "sslmode",
  "sslrootcert",
  "target_session_attrs",
  "user",
];

/** Parameters of libpq whose wishes would not be granted. */
const libpqOnly = [
  "fallback_application_name",
  "gssencmode",
  "hostaddr",
  "keepalives",
  "keepalives_count",
  "keepalives_idle",
  "keepalives_interval",
  "krbsrvname",
  "load_balance_hosts",
  "passfile",
  "require_auth",
  "requirepeer",
  "service",
  "ssl",
  "ssl_max_protocol_version",
  "ssl_min_protocol_version",
  "sslcertmode",
  "sslcrl",
  "sslcrldir",
  "sslnegotiation",
  "sslpassword",
  "tcp_user_timeout",
];

/** What a problem is thrown as inside this file. It never quotes the URL, which holds a password. */
class Problem extends Error {}

/**
 * Reads `postgres://user:password@host:port,host:port/database?parameter=value`, as libpq does. A parameter that
 * Parley does not know is a problem, since what it asks for would not be done.
 */
export function parseDatabaseUrl(text: string): DatabaseUrl | { problem: string } {
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof Problem) return { problem: error.message };
    throw error;
  }
}

/** The URL's hosts with their ports and the database, as in `db1:5432,db2:5432/parley`: nothing that is secret. */
export function shownDatabase({ hosts, database = "" }: DatabaseUrl): string {
  const shown = hosts.map(({ host, port }) => (host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`));
  return `${shown.join(",")}/${database}`;
}

function parse(text: string): DatabaseUrl {
  const match = /^postgres(?:ql)?:\/\/(?:([^/?#]*)@)?([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/.exec(text);
  const [, login = "", hosts = "", path = "", search = ""] = match ?? [];
  // With a "/" in the password, the rest of it would become the name of the database, which is shown.
  if (!match || /[/@]/.test(path))
    throw new Problem(
      "is no PostgreSQL URL, such as postgres://user:password@host:5432/parley, with special characters of the " +
        "password percent-encoded",
    );
  const query = readQuery(search);
  const colon = login.indexOf(":");
  const user = colon < 0 ? login : login.slice(0, colon);
  const password = colon < 0 ? "" : login.slice(colon + 1);
  const found = readHosts(query.get("host") ?? decoded(hosts), query.get("port"));
  return {
    hosts: found,
    user: query.get("user") ?? (decoded(user) || undefined),
    password: query.get("password") ?? decoded(password),
    database: query.get("dbname") ?? (decoded(path) || undefined),
    tls: readTls(query),
    channelBinding: oneOf(query, "channel_binding", ["disable", "prefer", "require"]) ?? "prefer",
    needsPrimary: readTarget(query) ?? found.length > 1,
    connectTimeoutSeconds: readSeconds(query) ?? 5,
    applicationName: query.get("application_name") ?? "parley",
    options: query.get("options") ?? "",
  };
}

function readQuery(search: string): Map<string, string> {
  const query = new Map<string, string>();
  for (const part of search.split("&").filter(Boolean)) {
    const [name = "", ...value] = part.split("=");
    // Only libpq's names are quoted: with a "?" in the password, the rest of it would look like a parameter.
    if (!parameters.includes(name))
      throw new Problem(
        `has ${libpqOnly.includes(name) ? name : "a parameter"}, which Parley does not know; it takes ` +
          parameters.join(", "),
      );
    // A value such as a managed service's `options=` may have more equals signs.
    const text = decoded(value.join("="));
    if (text !== "") query.set(name, text);
  }
  return query;
}

function readHosts(hosts: string, port: string | undefined): DatabaseUrl["hosts"] {
  const ports = port?.split(",") ?? [];
  return hosts.split(",").map((part, index) => {
    const match = /^(?:\[([0-9A-Fa-f:.]+)\]|(\/.*?)|([^:/[\]@\s]*))(?::([0-9]*))?$/.exec(part);
    const [, ip, folder, name, ownPort] = match ?? [];
    // The part is not quoted: a password with an unencoded "/" or "@" may have become a host.
    if (!match)
      throw new Problem(
        "has a host that cannot be read; percent-encode special characters of the password, and write an IPv6 " +
          "address in brackets",
      );
    const number = Number(ownPort || (ports.length > 1 ? ports[index] : ports[0]) || 5432);
    if (!Number.isInteger(number) || number < 1 || number > 65_535)
      throw new Problem("has a port that is no number from 1 to 65535");
    return { host: ip ?? folder ?? (name || "localhost"), port: number };
  });
}

function readTls(query: Map<string, string>): DatabaseUrl["tls"] {
  const asked = oneOf(query, "sslmode", [
    "disable",
    "allow",
    "prefer",
    "require",
    "verify-ca",
    "verify-full",
  ]);
  // "allow" encrypts only where the server insists; "prefer" is never weaker.
  let mode: TlsMode = asked === undefined || asked === "allow" ? "prefer" : asked;
  const certificateFile = query.get("sslcert");
  const keyFile = query.get("sslkey");
  const isSystem = query.get("sslrootcert") === "system";
  const rootFile = isSystem ? undefined : query.get("sslrootcert");
  if (mode === "disable" || mode === "prefer") {
    const file = ["sslrootcert", "sslcert", "sslkey"].find((name) => query.has(name));
    if (file !== undefined)
      throw new Problem(`has ${file} without TLS; add sslmode=verify-full, verify-ca or require`);
  }
  if ((certificateFile === undefined) !== (keyFile === undefined))
    throw new Problem("has one of sslcert and sslkey; a client's certificate needs both");
  if (isSystem && mode !== "verify-full")
    throw new Problem(
      "has sslrootcert=system, which anybody can get a certificate of; add sslmode=verify-full",
    );
  if (mode === "verify-ca" && rootFile === undefined)
    throw new Problem("has sslmode=verify-ca without sslrootcert, the file of the authority to trust");
  // As in libpq: an authority is named in order to be checked.
  if (mode === "require" && rootFile !== undefined) mode = "verify-ca";
  return { mode, rootFile, certificateFile, keyFile };
}

/** Whether only a server that takes writes will do; undefined where the URL does not say. */
function readTarget(query: Map<string, string>): boolean | undefined {
  const target = oneOf(query, "target_session_attrs", ["any", "read-write", "primary"]);
  return target === undefined ? undefined : target !== "any";
}

function readSeconds(query: Map<string, string>): number | undefined {
  const text = query.get("connect_timeout");
  if (text === undefined) return undefined;
  if (/^[0-9]{1,3}$/.test(text) && Number(text) > 0) return Number(text);
  throw new Problem("has a connect_timeout that is no number of seconds from 1 to 999");
}

function oneOf<Word extends string>(
  query: Map<string, string>,
  name: string,
  words: readonly Word[],
): Word | undefined {
  const text = query.get(name);
  if (text === undefined) return undefined;
  const word = words.find((candidate) => candidate === text);
  if (word === undefined) throw new Problem(`has an unknown ${name}; it is one of ${words.join(", ")}`);
  return word;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Problem("has a % that begins no percent-encoded character; write %25 for %");
  }
}
