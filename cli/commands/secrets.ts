import { resolve } from "node:path";
import type { Command } from "commander";
import { DomainError } from "../../src/errors.ts";
import { readSecretFile } from "../../src/input/secret-file.ts";
import { parseKey } from "../../src/input/secret-key.ts";
import { type RotationOutcome, rotateKey } from "../../src/key-rotation/rotate.ts";
import { addCommand } from "../invocation/command.ts";
import type { Invocation } from "../invocation/invocation.ts";

/** `parley secrets`: the key that encrypts the signing secrets. */
export function addSecrets(program: Command, invocation: Invocation): void {
  const noun = addCommand(program, "secrets", {
    summary: "Rotate the key that encrypts the signing secrets",
    examples: ["parley secrets rotate-key"],
  });
  addRotateKey(noun, invocation);
}

function addRotateKey(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "rotate-key", {
    summary: "Encrypt all signing secrets with a new key, while serving; run again if interrupted",
    examples: ["parley secrets rotate-key", "parley secrets rotate-key --new-key-file new.key"],
  }).option("--new-key-file <file>", "change to the key in this file (- reads standard input)");
  invocation.workspaceAction(command, async (database, options: { newKeyFile?: string }) => {
    const { dataDir, actor, output } = invocation;
    const fromSettings = invocation.config().secretKey;
    const given = await givenKey(invocation, options.newKeyFile);
    using progress = output.progress();
    const outcome = await rotateKey({ database, dataDir, fromSettings, given, actor }, (secrets) =>
      progress.show(`Encrypting: ${secrets} secrets`),
    );
    progress.clear();
    output.done({ data: outcome, said: outcomeLines(outcome), brief: outcome.key });
  });
}

async function givenKey(invocation: Invocation, file: string | undefined): Promise<Buffer | undefined> {
  if (file === undefined) return undefined;
  const text = file === "-" ? await typedKey(invocation) : textOf(resolve(file));
  const key = parseKey(text);
  if (key) return key;
  throw new DomainError(
    "invalid",
    "That is not a key: 32 bytes in base64 or hex. Make one: openssl rand -base64 32",
  );
}

async function typedKey({ prompts }: Invocation): Promise<string> {
  return await prompts.secret({ question: "What is the new key?", option: "Standard input" });
}

function textOf(path: string): string {
  const read = readSecretFile(path);
  if ("text" in read) return read.text;
  throw new DomainError("invalid", `${path} ${read.problem}.`);
}

function outcomeLines(outcome: RotationOutcome): string[] {
  const { key, old_key, old_key_file, new_key_file, secrets, unreadable, resumed, other_servers } = outcome;
  return [
    `${resumed ? "Finished the interrupted rotation" : "Rotated the key"}: ${countOf(secrets)} now encrypted with ${key}.`,
    ...(unreadable > 0
      ? [`${unreadable} could not be read with any key and were left. Rotate those secrets.`]
      : []),
    ...(old_key_file === null
      ? [`Keep the old key (${old_key}) with the backups made until now: they need it.`]
      : [
          `The old key (${old_key}) is in ${old_key_file}.`,
          "Backups made until now need it: move it to where they are.",
        ]),
    ...(new_key_file === null
      ? []
      : [
          "Set PARLEY_SECRET_KEY, or the file that it comes from, to the new key before the next start.",
          `Until then the new key stays in ${new_key_file}; the start after that removes it.`,
        ]),
    ...(other_servers === 0
      ? []
      : ["Every other server goes on with its secret.key.new, which its next start makes its secret.key."]),
  ];
}

function countOf(secrets: number): string {
  return secrets === 1 ? "1 signing secret is" : `${secrets.toLocaleString("en")} signing secrets are`;
}
