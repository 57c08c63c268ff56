import { styleText } from "node:util";
import type { Environment } from "../../src/config.ts";
import type { FieldErrors } from "../../src/errors.ts";
import { printableJson } from "../../src/input/json.ts";
import { printable } from "./printable.ts";
import { type Column, pairs, table } from "./table.ts";

type OutputOptions = { isJson: boolean; isQuiet: boolean; hasColor: boolean; environment: Environment };

/** What a command made or changed. */
type Done = {
  /** Its JSON. */
  data: unknown;
  /** What happened, for people, in one line or more. */
  said: string | readonly string[];
  /** What a script wants to have, with `--quiet`: an id, a secret. */
  brief: string;
  /** The command that is useful now. */
  next?: string;
};

/**
 * How a command says what it found or did: for people, or as one JSON document. Results go to standard output; notes,
 * prompts and refusals for people go to standard error.
 */
export class Output {
  readonly #options: OutputOptions;

  constructor(options: OutputOptions) {
    this.#options = options;
  }

  /** A list: a table for people, or `none` where it is empty. */
  list<Row>(
    rows: readonly Row[],
    columns: ReadonlyArray<Column<Row>>,
    said: { none: string; next?: string },
  ): void {
    if (this.#options.isJson) return this.json(rows);
    const width = process.stdout.isTTY ? process.stdout.columns : Number.POSITIVE_INFINITY;
    if (rows.length === 0) this.#note(said.none);
    else writeLine(process.stdout, table(rows, columns, { width, styleTitle: (title) => this.#bold(title) }));
    if (said.next !== undefined) this.next(said.next);
  }

  /** One thing with what is known about it. */
  details(data: unknown, lines: ReadonlyArray<readonly [label: string, value: string]>, next?: string): void {
    if (this.#options.isJson) return this.json(data);
    writeLine(process.stdout, pairs(lines));
    if (next !== undefined) this.next(next);
  }

  /** What was made or changed. */
  done({ data, said, brief, next }: Done): void {
    if (this.#options.isJson) return this.json(data);
    const lines = this.#options.isQuiet ? [brief] : [said].flat();
    for (const line of lines) writeLine(process.stdout, printable(line));
    if (next !== undefined) this.next(next);
  }

  /** The document of a command that has another form for people. */
  json(data: unknown): void {
    writeJson(process.stdout, { data });
  }

  /** The command that is useful after this one. */
  next(command: string): void {
    this.#note(`Next: ${printable(command)}`);
  }

  /** A remark for people, on standard error. */
  note(text: string): void {
    this.#note(printable(text));
  }

  /** A line of something that goes on and on. */
  line(text: string): void {
    writeLine(process.stdout, printable(text));
  }

  /** A line of a log, for programs, on standard error. */
  log(entry: object): void {
    writeJson(process.stderr, entry);
  }

  /**
   * A refusal, with what is wrong in each field where that is more than the message says, or a failure, with what came of
   * the attempt.
   */
  failure(message: string, more: { errors?: FieldErrors | undefined; data?: unknown } = {}): void {
    const { errors, data } = more;
    if (this.#options.isJson) return writeJson(process.stdout, { message, errors, data });
    const complaints = Object.values(errors ?? {}).flat();
    const lines = complaints.length > 1 ? complaints : message.split("\n");
    const label = this.#isColored(process.stderr) ? styled("red", "error:") : "error:";
    for (const line of lines) writeLine(process.stderr, `${label} ${printable(line)}`);
  }

  /** Whether the result is for a program that reads it. */
  get isJson(): boolean {
    return this.#options.isJson;
  }

  #note(text: string): void {
    if (this.#options.isJson || this.#options.isQuiet) return;
    writeLine(process.stderr, this.#isColored(process.stderr) ? styled("dim", text) : text);
  }

  #bold(text: string): string {
    return this.#isColored(process.stdout) ? styled("bold", text) : text;
  }

  #isColored(stream: NodeJS.WriteStream): boolean {
    const { hasColor, environment } = this.#options;
    return hasColor && stream.isTTY === true && !environment.NO_COLOR && environment.TERM !== "dumb";
  }
}

function styled(style: "red" | "dim" | "bold", text: string): string {
  return styleText(style, text, { validateStream: false });
}

function writeJson(stream: NodeJS.WriteStream, value: object): void {
  writeLine(stream, printableJson(JSON.stringify(value)));
}

function writeLine(stream: NodeJS.WriteStream, text: string): void {
  stream.write(`${text}\n`);
}
