import { resolve } from "node:path";
import { DomainError } from "../../src/errors.ts";
import { readSecretFile, secretBytesMax } from "../../src/input/secret-file.ts";
import type { Invocation } from "./invocation.ts";
import { readStandardInput } from "./standard-input.ts";

/** The options of a command that seals a key or opens a sealed one. */
export type PassphraseOptions = { passphraseFile?: string; withoutKey?: true };

/** A shorter passphrase is guessed too soon by whoever finds the backup. */
const lengthMin = 12;

/**
 * The passphrase to seal the key with: from the file, or typed twice; undefined with `--without-key`.
 * @throws DomainError `usage` when nothing says which; `invalid` for a file that holds none, or one that is too short.
 */
export async function newPassphrase(
  { prompts }: Invocation,
  options: PassphraseOptions,
): Promise<string | undefined> {
  const given = await givenPassphrase(options);
  if (options.withoutKey) return undefined;
  if (given === undefined && !prompts.canAsk) {
    throw new DomainError(
      "usage",
      "Is the key in the backup? Seal it in with --passphrase-file FILE, or leave it out with --without-key.",
    );
  }
  const passphrase =
    given ??
    (await prompts.secret({ question: "A passphrase to seal the key with", option: "--passphrase-file" }));
  if (passphrase.length < lengthMin) {
    throw new DomainError("invalid", `The passphrase must have at least ${lengthMin} characters.`);
  }
  if (given !== undefined) return given;
  const again = await prompts.secret({ question: "The same passphrase again", option: "--passphrase-file" });
  if (again !== passphrase) throw new DomainError("invalid", "The two passphrases are not the same.");
  return passphrase;
}

/**
 * The passphrase that opens the key in a backup: from the file, or typed; undefined with `--without-key`.
 * @throws DomainError `usage` when nothing says which; `invalid` for a file that holds none.
 */
export async function knownPassphrase(
  { prompts }: Invocation,
  options: PassphraseOptions,
): Promise<string | undefined> {
  const given = await givenPassphrase(options);
  if (given !== undefined || options.withoutKey) return given;
  if (!prompts.canAsk) {
    throw new DomainError(
      "usage",
      "The key in the backup is sealed. Name its passphrase with --passphrase-file FILE, or restore without the key: " +
        "--without-key.",
    );
  }
  return await prompts.secret({ question: "The passphrase of the backup", option: "--passphrase-file" });
}

/**
 * The passphrase in the file; undefined when none is named. `-` is standard input.
 * @throws DomainError `usage` together with `--without-key`; `invalid` for a file that holds none.
 */
async function givenPassphrase({
  passphraseFile,
  withoutKey,
}: PassphraseOptions): Promise<string | undefined> {
  if (passphraseFile === undefined) return undefined;
  if (withoutKey) {
    throw new DomainError(
      "usage",
      "--passphrase-file and --without-key contradict each other. Give one of them.",
    );
  }
  if (passphraseFile !== "-") return readPassphraseFile(passphraseFile);
  const text = (await readStandardInput("a passphrase", secretBytesMax)).replace(/\r?\n$/, "");
  if (text === "") throw new DomainError("invalid", "Standard input holds no passphrase.");
  return text;
}

/**
 * The text of a passphrase file. Never waits for the other end of a pipe.
 * @throws DomainError `invalid` for a file that holds none.
 */
function readPassphraseFile(file: string): string {
  const path = resolve(file);
  const read = readSecretFile(path);
  if ("text" in read) return read.text;
  throw new DomainError("invalid", `The passphrase file ${path} ${read.problem}.`);
}
