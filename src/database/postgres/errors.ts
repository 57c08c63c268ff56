import { SQL } from "bun";
import { DomainError, type ErrorCode } from "../../errors.ts";
import { ConnectionTrouble } from "./connection-trouble.ts";

/** What an error means to an operator, and the remedy. */
type Meaning = { kind: RegExp; code: ErrorCode; cause: string; remedy: string };

/**
 * Errors of the database rather than of the statement. A kind is the server's SQLSTATE, the driver's code, or the
 * reason of a ConnectionTrouble.
 */
const meanings: readonly Meaning[] = [
  {
    kind: /^57P0[123]$/,
    code: "unavailable",
    cause: "The database is stopping or starting, or has ended the connection",
    remedy: "wait until it runs",
  },
  {
    kind: /^ERR_POSTGRES_CONNECTION_(REFUSED|FAILED)$/,
    code: "unavailable",
    cause: "The database cannot be reached",
    remedy: "start it, or correct PARLEY_DATABASE_URL,",
  },
  {
    kind: /^(silent|ERR_POSTGRES_CONNECTION_TIMEOUT)$/,
    code: "unavailable",
    cause: "The database does not answer",
    remedy: "check that it runs and that the network lets it through",
  },
  {
    // Or it brought a message that the driver cannot read, after which it is of no use.
    kind: /^(08...|25P0[345]|57P05|closed|ERR_POSTGRES_(CONNECTION_CLOSED|\w*MESSAGE\w*|EXPECTED_\w*))$/,
    code: "unavailable",
    cause: "The connection to the database was cut",
    remedy: "check that it runs and that the network lets it through",
  },
  {
    kind: /^(28...|ERR_POSTGRES_(\w*AUTHENTICATION|SASL|CHANNEL_BINDING)\w*)$/,
    code: "unavailable",
    cause: "The database refuses the login",
    remedy: "correct the user and the password in PARLEY_DATABASE_URL, or pg_hba.conf,",
  },
  {
    kind: /^3D000$/,
    code: "unavailable",
    cause: "The PostgreSQL server has no database of this name",
    remedy: "create it, or correct PARLEY_DATABASE_URL,",
  },
  {
    kind: /^42501$/,
    code: "unavailable",
    cause: "The login lacks rights in the database",
    remedy: "make it the owner (ALTER DATABASE … OWNER TO …)",
  },
  {
    kind: /CERT|^ERR_(POSTGRES_TLS|TLS|SSL|OSSL|BORINGSSL)/,
    code: "unavailable",
    cause: "The connection to the database is not as secure as PARLEY_DATABASE_URL asks",
    remedy: "check sslmode, sslrootcert and the server's certificate",
  },
  {
    // A statement that was prepared is not there, or one of the same name is.
    kind: /^(26000|42P05)$/,
    code: "unavailable",
    cause: "A pooler in front of the database changes the connection between transactions",
    remedy: "set its pool_mode to session",
  },
  {
    kind: /^53300$/,
    code: "busy",
    cause: "The database has no connection left",
    remedy: "raise its max_connections, or run fewer servers,",
  },
  {
    kind: /^full$/,
    code: "busy",
    cause: "All connections of this server to the database are in use",
    remedy: "wait a moment",
  },
  {
    kind: /^(25006|read_only)$/,
    code: "unwritable",
    cause: "The database takes no writes, as a standby",
    remedy: "name its primary in PARLEY_DATABASE_URL, or promote it,",
  },
  {
    kind: /^53100$/,
    code: "unwritable",
    cause: "The disk of the database is full",
    remedy: "make room on it",
  },
  {
    kind: /^53...$/,
    code: "unwritable",
    cause: "The database has too little memory",
    remedy: "give its machine more",
  },
  {
    kind: /^(58...|XX00[12])$/,
    code: "unwritable",
    cause: "The database reports a fault of its files",
    remedy: "check its log",
  },
  {
    kind: /^(no_standby|unconfirmed)$/,
    code: "unwritable",
    cause: "Changes wait for the database's synchronous standby, which is away or slow",
    remedy: "bring it back, or take it out of synchronous_standby_names,",
  },
  {
    kind: /^(55P03|40...)$/,
    code: "busy",
    cause: "Other changes keep the database locked",
    remedy: "wait until they are done",
  },
  {
    kind: /^57014$/,
    code: "busy",
    cause: "The database took too long",
    remedy: "check its load",
  },
];

/** Kinds after which a statement may have been carried out: the connection ended before its answer. */
const unknownOutcome =
  /^(57P0[12]|08...|silent|closed|unconfirmed|ERR_POSTGRES_(CONNECTION_CLOSED|\w*MESSAGE\w*|EXPECTED_\w*))$/;

/** Kinds of which another try may get over at once. */
const repeatable = /^(25P03|40001|40P01|57P03|53300|0A000|ERR_POSTGRES_CONNECTION_REFUSED)$/;

/**
 * Why the database cannot be used, in words: "The database cannot be reached". Undefined for an error that concerns the
 * statement itself.
 */
export function causeOf(error: unknown): string | undefined {
  return meaningOf(error)?.cause;
}

/** Whether the database is away or takes no writes; not that one statement was too slow or waited for others. */
export function isOutage(error: unknown): boolean {
  return causeOf(error) !== undefined && !/^(55P03|40...|57014)$/.test(kindOf(error));
}

/** What to do about it, as a sentence. */
export function remedyOf(error: unknown): string | undefined {
  const remedy = meaningOf(error)?.remedy.replace(/,$/, "");
  return remedy && `${remedy.charAt(0).toUpperCase()}${remedy.slice(1)}.`;
}

/** The DomainError, `unavailable`, `busy` or `unwritable`, for an error of the database; any other error unchanged. */
export function explainDatabaseError(error: unknown): unknown {
  const meaning = meaningOf(error);
  if (!meaning) return error;
  const saved = isOutcomeUnknown(error) ? "Whether anything was saved is not known" : "Nothing was saved";
  const message = `${meaning.cause}. ${saved}; ${meaning.remedy} and try again.`;
  // Without drizzle's wrapper, whose message quotes the values of the statement.
  return new DomainError(meaning.code, message, { cause: originOf(error) });
}

/** Whether a statement, or the commit of a transaction, that ended with this error may have been carried out. */
export function isOutcomeUnknown(error: unknown): boolean {
  return unknownOutcome.test(kindOf(error));
}

/** Whether nothing was done, and the same may succeed at once: a deadlock, or a transaction that stood still too long. */
export function isRepeatable(error: unknown): boolean {
  return repeatable.test(kindOf(error));
}

/** Whether a wait for the lock of another change was in vain. */
export function isLockTimeout(error: unknown): boolean {
  return kindOf(error) === "55P03";
}

/** Whether it may come from commits that wait for a standby: nothing was heard of one, or of whoever holds a lock. */
export function mayBeUnconfirmed(error: unknown): boolean {
  return isLockTimeout(error) || kindOf(error) === "silent";
}

/** Whether a change was refused or given up because changes wait for a standby. */
export function isWithoutStandby(error: unknown): boolean {
  return /^(no_standby|unconfirmed)$/.test(kindOf(error));
}

/** Whether connecting may work within a second: the server is restarting, or has no place left. */
export function passesSoon(error: unknown): boolean {
  return /^(08|53|57P|ERR_POSTGRES_CONNECTION)/.test(kindOf(error)) || error instanceof ConnectionTrouble;
}

function meaningOf(error: unknown): Meaning | undefined {
  const kind = kindOf(error);
  return kind === "" ? undefined : meanings.find((meaning) => meaning.kind.test(kind));
}

/** The SQLSTATE of an error of the server, the driver's code, or our own reason; empty for any other error. */
function kindOf(error: unknown): string {
  const origin = originOf(error);
  if (origin instanceof ConnectionTrouble) return origin.reason;
  if (origin instanceof SQL.PostgresError) return origin.errno ?? origin.code;
  // The driver passes errors of TLS on as they are, without a class of their own.
  const { code, errno } = (origin ?? {}) as { code?: unknown; errno?: unknown };
  return typeof code === "string" && (errno === 0 || code === "ERR_BORINGSSL") ? code : "";
}

/** The error of the driver or the connection inside drizzle's wrapper. A DomainError already says what it means. */
function originOf(error: unknown): unknown {
  if (error instanceof DomainError || !(error instanceof Error)) return undefined;
  if (error instanceof SQL.PostgresError || error instanceof ConnectionTrouble) return error;
  return error.cause === undefined ? error : originOf(error.cause);
}

/** Whether a row that is there already has the value of this constraint. */
export function isUniqueViolation(error: unknown, constraint: string): boolean {
  const origin = originOf(error);
  return origin instanceof SQL.PostgresError && origin.errno === "23505" && origin.constraint === constraint;
}
