import { Option } from "commander";
import type { Invocation } from "./invocation.ts";

/** The option for a signing secret of one's own. An argument would show the secret to whoever lists the processes. */
export function secretStdin(): Option {
  return new Option("--secret-stdin", "read the signing secret from standard input: whsec_ and base64");
}

/**
 * The secret from standard input, or typed unseen; undefined without the option.
 * @throws DomainError `usage` when there is none; Cancelled.
 */
export async function givenSecret(
  { prompts }: Invocation,
  options: { secretStdin?: true },
): Promise<string | undefined> {
  if (!options.secretStdin) return undefined;
  return await prompts.secret({
    question: "What is the signing secret?",
    option: "Standard input",
  });
}
