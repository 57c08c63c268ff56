import type { Argument, Command, Option } from "commander";

/** What can stand at the cursor; `word` is one of the two `paths` where the shell completes a path itself. */
export type Completion = { word: string; description: string };

/** Placeholders of options and arguments that stand for a path, and what the shell is asked for. */
const paths: Record<string, string> = {
  file: ":files",
  binary: ":files",
  dir: ":folders",
  folder: ":folders",
};

/** Where the cursor is, after the words before it. */
type Cursor = {
  command: Command;
  /** The option whose value may follow, and how many of its values are there. */
  open: Option | undefined;
  values: number;
  /** How many arguments of the command are there. */
  given: number;
  /** Whether `--` has ended the options. */
  areOptionsOver: boolean;
};

/**
 * Returns what can follow, read from the program's commands. `words` are those after the program's name, up to the
 * cursor; the last one is what is typed of the word to complete, if only "".
 */
export function completionsOf(program: Command, words: readonly string[]): Completion[] {
  const typed = words.at(-1) ?? "";
  const cursor = cursorAfter(program, words.slice(0, -1));
  const [, name, value] = /^(--[^=]+)=(.*)$/s.exec(typed) ?? [];
  const named = name === undefined ? undefined : optionOf(program, cursor.command, name);
  const found = named
    ? valuesOf(named).map(({ word, ...rest }) => ({ ...rest, word: isPath(word) ? word : `${name}=${word}` }))
    : candidates(program, cursor, typed);
  const begun = named ? `${name}=${value}` : typed;
  return found.filter(({ word }) => isPath(word) || word.startsWith(begun));
}

function cursorAfter(program: Command, words: readonly string[]): Cursor {
  const cursor: Cursor = { command: program, open: undefined, values: 0, given: 0, areOptionsOver: false };
  for (const word of words) {
    if (word === "--") cursor.areOptionsOver = true;
    if (word.startsWith("-") && !cursor.areOptionsOver) {
      const option = word.includes("=") ? undefined : optionOf(program, cursor.command, word);
      cursor.open = option && takesValue(option) ? option : undefined;
      cursor.values = 0;
      continue;
    }
    if (cursor.open && (cursor.values === 0 || cursor.open.variadic)) {
      cursor.values++;
      continue;
    }
    cursor.open = undefined;
    const child = cursor.command.commands.find((each) => each.name() === word);
    if (child) cursor.command = child;
    else if (word !== "--") cursor.given++;
  }
  return cursor;
}

function candidates(program: Command, cursor: Cursor, typed: string): Completion[] {
  const { command, open, values, given, areOptionsOver } = cursor;
  if (open && values === 0) return valuesOf(open);
  const options = areOptionsOver ? [] : optionsOf(program, command);
  if (typed.startsWith("-"))
    return options.map(({ long, description }) => ({ word: long ?? "", description }));
  const argument = command.registeredArguments[given] ?? command.registeredArguments.findLast(isVariadic);
  const words = [
    ...(open?.variadic ? valuesOf(open) : []),
    ...command.commands.map((each) => ({ word: each.name(), description: each.description() })),
    ...(argument ? valuesOf(argument) : []),
  ];
  if (words.length > 0 || typed !== "") return words;
  return options.map(({ long, description }) => ({ word: long ?? "", description }));
}

/** The options of the command and of the program, which are valid everywhere. */
function optionsOf(program: Command, command: Command): Option[] {
  const own = command === program ? [] : program.options.filter(({ long }) => long !== "--version");
  return [...command.createHelp().visibleOptions(command), ...own].filter(({ hidden }) => !hidden);
}

function optionOf(program: Command, command: Command, name: string): Option | undefined {
  return optionsOf(program, command).find(({ long, short }) => long === name || short === name);
}

function takesValue({ required, optional }: Option): boolean {
  return required || optional;
}

function isVariadic({ variadic }: Argument): boolean {
  return variadic;
}

function isPath(word: string): boolean {
  return Object.values(paths).includes(word);
}

/** The closed choice that an option or argument takes, or the kind of path; nothing for free text. */
function valuesOf(given: Option | Argument): Completion[] {
  if (given.argChoices) return given.argChoices.map((word) => ({ word, description: "" }));
  const placeholder = "flags" in given ? /[<[](\w+)/.exec(given.flags)?.[1] : given.name();
  const path = paths[placeholder ?? ""];
  return path === undefined ? [] : [{ word: path, description: "" }];
}
