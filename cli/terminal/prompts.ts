import type { Key } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { forbidColor } from "../../src/config.ts";
import { DomainError } from "../../src/errors.ts";
import { printable } from "./printable.ts";

/** The person at the terminal cancelled a prompt. */
export class Cancelled extends Error {
  override readonly name = "Cancelled";

  constructor() {
    super("Cancelled. Nothing was changed.");
  }
}

/** A question, and the option or argument that answers it. */
type Question = { question: string; option: string };

export type Choice = { value: string; label: string; hint?: string };

/** Asks the person at the terminal for missing arguments; without a terminal, throws an error that names them. */
export class Prompts {
  readonly #canAsk: boolean;
  readonly #saysYes: boolean;
  readonly #hasColor: boolean;

  constructor(options: { canAsk: boolean; saysYes: boolean; hasColor: boolean }) {
    this.#canAsk = options.canAsk;
    this.#saysYes = options.saysYes;
    this.#hasColor = options.hasColor;
  }

  get canAsk(): boolean {
    return this.#canAsk;
  }

  /**
   * Returns `given`, or else asks for a line of text; Enter takes the suggestion.
   * @throws DomainError `usage` without a terminal; Cancelled.
   */
  async text(given: string | undefined, asked: Question & { suggested?: string }): Promise<string> {
    if (given !== undefined) return given;
    const { text } = await this.#ask(asked);
    const { question, suggested = "" } = asked;
    const validate = (value: string | undefined) =>
      (value || suggested).trim() === "" ? "Please answer, or press Ctrl-C." : undefined;
    return await answered((streams) =>
      text({ ...streams, message: question, placeholder: suggested, defaultValue: suggested, validate }),
    );
  }

  /**
   * Returns `given`, or else asks for one of the choices, which typing filters.
   * @throws DomainError `usage` without a terminal; `not_found` if there are no choices; Cancelled.
   */
  async choice(
    given: string | undefined,
    asked: Question & { choices: () => Promise<Choice[]> | Choice[] },
  ): Promise<string> {
    if (given !== undefined) return given;
    const { autocomplete } = await this.#ask(asked);
    // Others may have chosen what is in them.
    const options = (await asked.choices()).map(({ value, label, hint }) => ({
      value,
      label: printable(label),
      ...(hint !== undefined && { hint: printable(hint) }),
    }));
    if (options.length === 0)
      throw new DomainError("not_found", `${asked.question} There is nothing to choose from.`);
    // A filter that matches nothing leaves nothing selected.
    const validate = (value: string | string[] | undefined) =>
      value === undefined ? "Please choose one, or press Ctrl-C." : undefined;
    return await answered((streams) =>
      autocomplete({ ...streams, message: asked.question, options, maxItems: 10, validate }),
    );
  }

  /**
   * Returns `given`, or else asks for one or more of the words.
   * @throws DomainError `usage` without a terminal; Cancelled.
   */
  async choices(
    given: readonly string[] | undefined,
    asked: Question & { words: readonly string[] },
  ): Promise<readonly string[]> {
    if (given !== undefined) return given;
    const { multiselect } = await this.#ask(asked);
    const options = asked.words.map((value) => ({ value }));
    return await answered((streams) => multiselect({ ...streams, message: asked.question, options }));
  }

  /**
   * Asks for a secret without echoing it or, if standard input is no terminal, reads all of that. Returns it trimmed.
   * @throws DomainError `usage` for empty input, or on a terminal where prompts are off; Cancelled.
   */
  async secret(asked: Question): Promise<string> {
    if (process.stdin.isTTY !== true) {
      const secret = (await Bun.stdin.text()).trim();
      return secret === "" ? missing(asked) : secret;
    }
    const { password } = await this.#ask(asked);
    const validate = (value: string | undefined) =>
      (value ?? "").trim() === "" ? "Please answer, or press Ctrl-C." : undefined;
    const typed = await answered((streams) =>
      password({ ...streams, message: asked.question, validate, clearOnError: true }),
    );
    return typed.trim();
  }

  /**
   * Returns once the person at the terminal, or `--yes`, confirms.
   * @throws DomainError `usage` without either; Cancelled.
   */
  async confirm(message: string): Promise<void> {
    if (this.#saysYes) return;
    if (!this.#canAsk) throw new DomainError("usage", `${message} Without a terminal, confirm with --yes.`);
    const { confirm } = await this.#clack();
    if (!(await answered((streams) => confirm({ ...streams, message, initialValue: false }))))
      throw new Cancelled();
  }

  async #ask(asked: Question) {
    return this.#canAsk ? await this.#clack() : missing(asked);
  }

  async #clack() {
    if (!this.#hasColor) forbidColor();
    // Loaded only when there is a question.
    return await import("@clack/prompts");
  }
}

function missing({ question, option }: Question): never {
  throw new DomainError("usage", `${question} ${option} is missing.`);
}

/**
 * Shows a prompt on standard error, since standard output is for results, and returns the answer.
 * @throws Cancelled after Ctrl-C, and after Ctrl-D, which would leave clack waiting forever.
 */
async function answered<Value>(
  prompt: (streams: { input: Readable; output: Writable; signal: AbortSignal }) => Promise<Value>,
): Promise<Exclude<Value, symbol>> {
  const abortion = new AbortController();
  const onKey = (_text: string | undefined, key: Key) => {
    if (key.ctrl && key.name === "d") abortion.abort();
  };
  process.stdin.on("keypress", onKey);
  try {
    const given = await prompt({ input: process.stdin, output: process.stderr, signal: abortion.signal });
    if (typeof given === "symbol") throw new Cancelled();
    return given as Exclude<Value, symbol>;
  } finally {
    process.stdin.off("keypress", onKey);
  }
}
