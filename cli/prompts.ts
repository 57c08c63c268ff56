import { forbidColor } from "../src/config.ts";
import { DomainError } from "../src/errors.ts";

/** The person at the terminal wants out. */
export class Cancelled extends Error {
  override readonly name = "Cancelled";

  constructor() {
    super("Cancelled. Nothing was changed.");
  }
}

/** Something to ask for, and the option or argument that would have said it. */
type Question = { question: string; option: string };

export type Choice = { value: string; label: string; hint?: string };

/** Asks the person at the terminal for what the arguments leave open; without a terminal, says what is missing. */
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
   * The answer that was given, or else a line of text.
   * @throws DomainError `usage` without a terminal; Cancelled.
   */
  async text(given: string | undefined, asked: Question & { initial?: string }): Promise<string> {
    if (given !== undefined) return given;
    const { text } = await this.#ask(asked);
    return answer(
      await text({
        ...streams,
        message: asked.question,
        initialValue: asked.initial ?? "",
        validate: (value) => ((value ?? "").trim() === "" ? "Please answer, or press Ctrl-C." : undefined),
      }),
    );
  }

  /**
   * The answer that was given, or else one of the choices, which can be searched by typing.
   * @throws DomainError `usage` without a terminal or a choice; Cancelled.
   */
  async choice(
    given: string | undefined,
    asked: Question & { choices: () => Promise<Choice[]> | Choice[] },
  ): Promise<string> {
    if (given !== undefined) return given;
    const { autocomplete } = await this.#ask(asked);
    const options = await asked.choices();
    if (options.length === 0)
      throw new DomainError("usage", `${asked.question} There is nothing to choose from.`);
    return answer(await autocomplete({ ...streams, message: asked.question, options, maxItems: 10 }));
  }

  /**
   * The answers that were given, or else some of the words, all of them to begin with.
   * @throws DomainError `usage` without a terminal; Cancelled.
   */
  async choices(
    given: readonly string[] | undefined,
    asked: Question & { words: readonly string[] },
  ): Promise<readonly string[]> {
    if (given !== undefined) return given;
    const { multiselect } = await this.#ask(asked);
    const options = asked.words.map((value) => ({ value }));
    return answer(
      await multiselect({ ...streams, message: asked.question, options, initialValues: [...asked.words] }),
    );
  }

  /**
   * Returns when the person at the terminal, or `--yes`, says that it is to be done.
   * @throws DomainError `usage` without either; Cancelled.
   */
  async confirm(question: string): Promise<void> {
    if (this.#saysYes) return;
    if (!this.#canAsk) throw new DomainError("usage", `${question} Without a terminal, answer with --yes.`);
    const { confirm } = await this.#clack();
    if (!answer(await confirm({ ...streams, message: question, initialValue: false }))) throw new Cancelled();
  }

  async #ask({ question, option }: Question) {
    if (!this.#canAsk) throw new DomainError("usage", `${question} ${option} is missing.`);
    return await this.#clack();
  }

  async #clack() {
    if (!this.#hasColor) forbidColor();
    // Loaded only by the commands that have a question.
    return await import("@clack/prompts");
  }
}

/** Prompts go to standard error: standard output is for what was asked for. */
const streams = { input: process.stdin, output: process.stderr };

/** What was answered; clack gives a symbol for Ctrl-C. */
function answer<Value>(given: Value): Exclude<Value, symbol> {
  if (typeof given === "symbol") throw new Cancelled();
  return given as Exclude<Value, symbol>;
}
