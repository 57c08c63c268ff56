import { styleText } from "node:util";
import type { Environment } from "../../src/config.ts";
import type { FieldErrors } from "../../src/errors.ts";
import { printableJson } from "../../src/input/json.ts";
import type { Finding } from "../../src/doctor/finding.ts";
import type { Color } from "./color.ts";
import { findingLines } from "./finding-view.ts";
import { printable } from "./printable.ts";
import { Progress } from "./progress.ts";
import { type Column, pairs, table, wrapped } from "./table.ts";

type OutputOptions = { isJson: boolean; isQuiet: boolean; hasColor: boolean; environment: Environment };

/** The outcome of a command that changed something. */
type Done = {
  /** For `--json`. */
  data: unknown;
  /** For people, one line or more. */
  said: string | readonly string[];
  /** For scripts, with `--quiet`: an id or a secret. */
  brief: string;
  /** The next useful command. */
  next?: string;
};

/**
 * Prints what a command found or did, for people or as one JSON document. Results go to standard output, and with
 * `--json` errors too; notes, prompts and errors for people go to standard error.
 */
export class Output {
  readonly #options: OutputOptions;

  constructor(options: OutputOptions) {
    this.#options = options;
  }

  /** Prints a list: for people a table, or `none` if it is empty. */
  list<Row>(
    rows: readonly Row[],
    columns: ReadonlyArray<Column<Row>>,
    said: { none: string; next?: string },
  ): void {
    if (this.#options.isJson) return this.json(rows);
    if (rows.length === 0) this.#note(said.none);
    else
      writeLine(
        process.stdout,
        table(rows, columns, {
          width: width(),
          styleTitle: (title) => this.#bold(title),
          paint: (color, text) => this.#painted(color, text),
        }),
      );
    if (said.next !== undefined) this.next(said.next);
  }

  /** Prints one thing with its details. */
  details(data: unknown, lines: ReadonlyArray<readonly [label: string, value: string]>, next?: string): void {
    if (this.#options.isJson) return this.json(data);
    writeLine(process.stdout, pairs(lines, width()));
    if (next !== undefined) this.next(next);
  }

  /** Prints what checks found, each with its remedy. */
  findings(findings: readonly Finding[]): void {
    if (this.#options.isJson) return this.json(findings);
    writeLine(
      process.stdout,
      findingLines(findings, width(), (color, text) => this.#painted(color, text)),
    );
  }

  /** Prints the outcome of a change. */
  done({ data, said, brief, next }: Done): void {
    if (this.#options.isJson) return this.json(data);
    const lines = this.#options.isQuiet ? [brief] : [said].flat();
    for (const line of lines) writeLine(process.stdout, printable(line));
    if (next !== undefined) this.next(next);
  }

  /** Prints only the JSON document, for commands that print something else for people. */
  json(data: unknown): void {
    writeJson(process.stdout, { data });
  }

  /** Suggests the next command, on standard error. */
  next(command: string): void {
    this.#note(`Next: ${printable(command)}`);
  }

  /** Prints a note for people on standard error, wrapped on a terminal. */
  note(text: string): void {
    const { isTTY, columns } = process.stderr;
    const fitting = isTTY ? columns : Number.POSITIVE_INFINITY;
    for (const line of wrapped(printable(text), fitting)) this.#note(line);
  }

  /** Prints one line of endless output. */
  line(text: string): void {
    writeLine(process.stdout, printable(text));
  }

  /** Prints a log entry as JSON on standard error. */
  log(entry: object): void {
    writeJson(process.stderr, entry);
  }

  /**
   * Prints an error. `errors` are the messages by field: people see them instead of the message if there is more than
   * one. `data` is the outcome of a request that failed, for `--json`.
   */
  failure(message: string, more: { errors?: FieldErrors | undefined; data?: unknown } = {}): void {
    const { errors, data } = more;
    if (this.#options.isJson) return writeJson(process.stdout, { message, errors, data });
    const complaints = Object.values(errors ?? {}).flat();
    const lines = complaints.length > 1 ? complaints : message.split("\n");
    const label = this.#isColored(process.stderr) ? styled("red", "error:") : "error:";
    for (const line of lines) writeLine(process.stderr, `${label} ${printable(line)}`);
  }

  /** A line on standard error that tells how far long work is; it shows nothing without a terminal. */
  progress(): Progress {
    return new Progress(this.#showsProgress ? process.stderr : undefined);
  }

  /** Whether somebody sees both the result and the progress, so that a command may wait for something to happen. */
  get isWatched(): boolean {
    return this.#showsProgress && process.stdout.isTTY === true;
  }

  get #showsProgress(): boolean {
    const { isJson, isQuiet, environment } = this.#options;
    return process.stderr.isTTY === true && !isJson && !isQuiet && environment.TERM !== "dumb";
  }

  /** Whether a program reads the result (`--json`). */
  get isJson(): boolean {
    return this.#options.isJson;
  }

  /** Whether standard error is a terminal that may show colours. */
  get hasColoredErrors(): boolean {
    return this.#isColored(process.stderr);
  }

  #note(text: string): void {
    if (this.#options.isJson || this.#options.isQuiet) return;
    writeLine(process.stderr, this.#isColored(process.stderr) ? styled("dim", text) : text);
  }

  #bold(text: string): string {
    return this.#isColored(process.stdout) ? styled("bold", text) : text;
  }

  #painted(color: Color, text: string): string {
    return this.#isColored(process.stdout) ? styled(color, text) : text;
  }

  #isColored(stream: NodeJS.WriteStream): boolean {
    const { hasColor, environment } = this.#options;
    return hasColor && stream.isTTY === true && !environment.NO_COLOR && environment.TERM !== "dumb";
  }
}

/** The columns of the terminal; without one there is no limit. */
function width(): number {
  return process.stdout.isTTY ? process.stdout.columns : Number.POSITIVE_INFINITY;
}

function styled(style: Color | "bold", text: string): string {
  return styleText(style, text, { validateStream: false });
}

function writeJson(stream: NodeJS.WriteStream, value: object): void {
  writeLine(stream, printableJson(JSON.stringify(value)));
}

function writeLine(stream: NodeJS.WriteStream, text: string): void {
  stream.write(`${text}\n`);
}
