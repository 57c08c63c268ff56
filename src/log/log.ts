import { type DestinationStream, type Logger, pino } from "pino";
import { errorCode } from "../system/error-code.ts";
import { linesForPeople } from "./for-people.ts";
import { LineBuffer } from "./line-buffer.ts";
import { RepeatedFailures } from "./repeated-failures.ts";

export type Log = Logger & {
  /**
   * Writes a line at level info whose fields are JSON text already, without braces; undefined where that level is off.
   * For lines that come with every request: pino takes a microsecond or two to write out the same.
   */
  infoText: ((fields: string, event: string) => void) | undefined;
};

/**
 * The maximum length of an error's texts, in UTF-16 units (user text that they quote can be long), and of its chain of
 * causes.
 */
const messageLengthMax = 1_000;
const stackLengthMax = 4_000;
const causesMax = 3;

let jsonLines: LineBuffer | undefined;

/** Standard error as the log's destination on a terminal: lines for people instead of JSON. */
export function standardErrorForPeople(hasColor: boolean): DestinationStream {
  return new LineBuffer(2, (lines) => linesForPeople(lines, hasColor));
}

/**
 * Creates the log: one JSON line per operation, on standard error unless `destination` is given, with everything known
 * about it, from `level` up. It never contains a secret, so callers log the route and not the path. Repeated lines at
 * level error that have an `err` are counted, and the number is logged instead.
 */
export function createLog(
  level: string,
  destination: DestinationStream = (jsonLines ??= new LineBuffer(2)),
): Log {
  const log = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: (error: unknown) => errorFields(error, causesMax) },
    },
    destination,
  );
  const error: (this: Logger, fields: object, message?: string) => void = log.error;
  const repeated = new RepeatedFailures((dropped) => error.call(log, dropped, "log.repeats_left_out"));
  // Child loggers inherit both.
  const infoText = log.isLevelEnabled("info")
    ? (fields: string, event: string) =>
        destination.write(`{"level":30,"time":"${new Date().toISOString()}",${fields},"msg":"${event}"}\n`)
    : undefined;
  log.error = function (this: Logger, fields: object, message = "") {
    if (!("err" in fields) || repeated.shouldWrite({ of: message, code: codeOf(fields) })) {
      error.call(this, fields, message);
    }
  };
  return Object.assign(log, { infoText });
}

/** Distinguishes failures that are logged with the same message. */
function codeOf({ err, status }: { err?: unknown; status?: unknown }): string {
  if (!(err instanceof Error)) return err === undefined ? String(status) : typeof err;
  return errorCode(err) ?? err.name;
}

type ErrorFields = { type?: string; code?: unknown; message: string; stack?: string; cause?: ErrorFields };

function errorFields(error: unknown, causesLeft: number): ErrorFields {
  if (!(error instanceof Error)) return { message: cut(Bun.inspect(error), messageLengthMax) };
  const { name, message, stack = "", cause } = error;
  return {
    type: name,
    ...("code" in error ? { code: error.code } : {}),
    message: cut(message, messageLengthMax),
    stack: cut(stack, stackLengthMax),
    ...(cause !== undefined && causesLeft > 0 ? { cause: errorFields(cause, causesLeft - 1) } : {}),
  };
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length).toWellFormed()}…`;
}
