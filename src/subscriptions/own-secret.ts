import { DomainError } from "../errors.ts";

/** The length of the key in bytes, as Standard Webhooks has it. */
const bytesMin = 24;
const bytesMax = 64;

/** Random bytes repeat themselves less: of 24, fewer than 12 different ones never happen. */
const differentMin = 12;

/**
 * Returns the text if it can sign a subscription's deliveries: `whsec_` and 24 to 64 bytes in padded base64, which
 * every Standard Webhooks library decodes.
 * @throws DomainError `invalid`, which never quotes the text.
 */
export function checkedSecret(text: string): string {
  const problem = problemOf(text);
  if (problem === undefined) return text;
  throw new DomainError("invalid", `The signing secret ${problem}. This makes one: ${recipe}`);
}

const recipe = 'echo "whsec_$(openssl rand -base64 32)"';

function problemOf(text: string): string | undefined {
  if (!text.startsWith("whsec_")) return "must begin with whsec_";
  const encoded = text.slice("whsec_".length);
  const key = Buffer.from(encoded, "base64");
  // Buffer skips what is not base64, so only a text that comes back the same was all of it.
  if (key.toString("base64") !== encoded) return "must be padded base64 after whsec_";
  if (key.length < bytesMin || key.length > bytesMax)
    return `must hold ${bytesMin} to ${bytesMax} bytes in base64 after whsec_, and holds ${key.length}`;
  if (new Set(key).size < differentMin) return "repeats itself, so it can be guessed";
  return undefined;
}
