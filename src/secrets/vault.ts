import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { DomainError } from "../errors.ts";

const nonceBytes = 12;
const tagBytes = 16;

/** Where a sealed secret belongs, as `table:id`: sealed for one row it does not open for another. */
type Place = `${string}:${string}`;

/**
 * Keeps the secrets that must be read back to sign with: encrypted (AES-256-GCM), each with a nonce of its own and
 * bound to its row.
 */
export class Vault {
  readonly #key: Buffer | undefined;

  constructor(key: Buffer | undefined) {
    this.#key = key;
  }

  /**
   * The secret as it is stored.
   * @throws DomainError `key_missing` when there is no key to seal with.
   */
  seal(secret: string, place: Place): Buffer {
    if (!this.#key) throw keyMissing("The key file is missing, so no new secret can be kept.");
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv("aes-256-gcm", this.#key, nonce);
    cipher.setAAD(Buffer.from(place));
    const sealed = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
  }

  /**
   * The secret in clear.
   * @throws DomainError `key_missing` when there is no key, it is another one, or what is stored was altered.
   */
  open(stored: Uint8Array, place: Place): string {
    if (!this.#key) throw keyMissing("The key file is missing, so the signing secret cannot be read.");
    try {
      const decipher = createDecipheriv("aes-256-gcm", this.#key, stored.subarray(0, nonceBytes), {
        authTagLength: tagBytes,
      });
      decipher.setAAD(Buffer.from(place));
      decipher.setAuthTag(stored.subarray(nonceBytes, nonceBytes + tagBytes));
      return (
        decipher.update(stored.subarray(nonceBytes + tagBytes), undefined, "utf8") + decipher.final("utf8")
      );
    } catch {
      throw keyMissing("The signing secret cannot be read with this key.");
    }
  }

  /** Why what is stored cannot be read, in words for the operator; undefined when it can. */
  whyUnreadable(stored: Uint8Array, place: Place): string | undefined {
    try {
      this.open(stored, place);
      return undefined;
    } catch (error) {
      if (error instanceof DomainError) return error.message;
      throw error;
    }
  }
}

function keyMissing(what: string): DomainError {
  return new DomainError(
    "key_missing",
    `${what} Put secret.key back from a copy of the data folder, or set PARLEY_SECRET_KEY, and start again; ` +
      "where it is lost, rotate the secret.",
  );
}
