import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";
import type { Database, Transaction } from "../database/database.ts";
import { DomainError } from "../errors.ts";
import { selectKeyCheck, upsertKeyCheck } from "./store.ts";

const nonceBytes = 12;
const tagBytes = 16;

/** The row that a sealed secret belongs to, as `table:id`. It cannot be opened for another row. */
type Place = `${string}:${string}`;

/**
 * Encrypts the secrets that must be read back for signing (AES-256-GCM), each with its own nonce and bound to its row.
 * All secrets of a workspace are encrypted with one key, the server's; a process with another key is refused.
 */
export class Vault {
  readonly #key: Buffer | undefined;
  /** Identifies the key. */
  readonly #checkValue: Buffer | undefined;
  /** Cached plaintexts, each for as long as the sealed bytes that it came from are referenced. */
  readonly #opened = new WeakMap<Uint8Array, { secret: string; place: Place }>();

  constructor(key: Buffer | undefined) {
    this.#key = key;
    this.#checkValue = key && createHmac("sha256", key).update("parley secret key").digest();
  }

  /**
   * Makes this key the workspace's, as a server does at startup, since it reads the secrets with it. Without a key
   * this does nothing. Returns whether the workspace had another key before.
   */
  async adopt(database: Database): Promise<boolean> {
    const checkValue = this.#checkValue;
    const known = await selectKeyCheck(database.read);
    if (!checkValue || known?.equals(checkValue)) return false;
    await database.write((tx) => upsertKeyCheck(tx, checkValue));
    return known !== undefined;
  }

  /**
   * Encrypts the secret for storage. The first secret makes the key the workspace's.
   * @throws DomainError `key_missing` when there is no key, or it is not the workspace's.
   */
  async seal(tx: Transaction, secret: string, place: Place): Promise<Buffer> {
    if (!this.#key || !this.#checkValue) {
      throw keyError("The key file is missing, so no new secret can be stored.");
    }
    const known = await selectKeyCheck(tx);
    if (known && !known.equals(this.#checkValue)) throw wrongKey();
    if (!known) await upsertKeyCheck(tx, this.#checkValue);

    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv("aes-256-gcm", this.#key, nonce);
    cipher.setAAD(Buffer.from(place));
    const sealed = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
  }

  /**
   * Decrypts the secret.
   * @throws DomainError `key_missing` when there is no key, it is the wrong one, or the stored bytes were altered.
   */
  open(stored: Uint8Array, place: Place): string {
    const opened = this.#opened.get(stored);
    if (opened?.place === place) return opened.secret;
    const secret = this.#decipher(stored, place);
    this.#opened.set(stored, { secret, place });
    return secret;
  }

  #decipher(stored: Uint8Array, place: Place): string {
    if (!this.#key) throw keyError("The key file is missing, so the signing secret cannot be read.");
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
      throw keyError("The signing secret cannot be read with this key.");
    }
  }

  /** Why the stored secret cannot be read, as a sentence for the operator; undefined when it can. */
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

function wrongKey(): DomainError {
  return new DomainError(
    "key_missing",
    "This is not the key that the server of this workspace encrypts its secrets with, so it could not read new " +
      "ones. Set PARLEY_SECRET_KEY to the server's key, or restore its secret.key, and try again; if that key is " +
      "lost, start the server with this key first.",
  );
}

function keyError(problem: string): DomainError {
  return new DomainError(
    "key_missing",
    `${problem} Restore secret.key from a backup of the data folder, or set PARLEY_SECRET_KEY, and start again; ` +
      "if the key is lost, rotate the secret.",
  );
}
