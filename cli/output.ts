/** How a command says what it did: for people, or as one JSON document for programs. */
export class Output {
  readonly #isJson: boolean;

  constructor(options: { isJson: boolean }) {
    this.#isJson = options.isJson;
  }

  /** The result of the command: `data` as JSON on standard output, or the lines for people. */
  result(data: unknown, lines: string): void {
    write(process.stdout, this.#isJson ? JSON.stringify({ data }) : lines);
  }

  /** The refusal of the command: JSON on standard output, or a line on standard error. */
  failure(message: string, errors?: Record<string, string[]>): void {
    if (this.#isJson) write(process.stdout, JSON.stringify(errors ? { message, errors } : { message }));
    else write(process.stderr, message);
  }
}

function write(stream: NodeJS.WriteStream, text: string): void {
  stream.write(`${text}\n`);
}
