import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";
import type { Database, Transaction } from "../database/database.ts";
import { DomainError } from "../errors.ts";
import { selectKeyCheck, upsertKeyCheck } from "./store.ts";

const nonceBytes = 12;
const tagBytes = 16;

/** Where a sealed secret belongs, as `table:id`: sealed for one row it does not open for another. */
type Place = `${string}:${string}`;

/**
 * Keeps the secrets that must be read back to sign with: encrypted (AES-256-GCM), each with a nonce of its own and
 * bound to its row. All that a workspace seals is under one key, the server's: whoever has another one is refused.
 */
export class Vault {
  readonly #key: Buffer | undefined;
  /** Tells this key from others. */
  readonly #checkValue: Buffer | undefined;
  /** What was opened, for as long as somebody holds on to the very bytes that it was sealed in. */
  readonly #opened = new WeakMap<Uint8Array, { secret: string; place: Place }>();

  constructor(key: Buffer | undefined) {
    this.#key = key;
    this.#checkValue = key && createHmac("sha256", key).update("parley secret key").digest();
  }

  /**
   * Makes this key the workspace's, as a server does when it starts: with it the secrets are read. Without a key nothing
   * changes. Returns whether the workspace had another one before.
   */
  async adopt(database: Database): Promise<boolean> {
    const checkValue = this.#checkValue;
    const known = await selectKeyCheck(database.read);
    if (!checkValue || known?.equals(checkValue)) return false;
    await database.write((tx) => upsertKeyCheck(tx, checkValue));
    return known !== undefined;
  }

  /**
   * The secret as it is stored. The first one makes its key the workspace's.
   * @throws DomainError `key_missing` when there is no key to seal with, or it is not the workspace's.
   */
  async seal(tx: Transaction, secret: string, place: Place): Promise<Buffer> {
    if (!this.#key || !this.#checkValue) {
      throw keyMissing("The key file is missing, so no new secret can be kept.");
    }
    const known = await selectKeyCheck(tx);
    if (known && !known.equals(this.#checkValue)) throw otherKey();
    if (!known) await upsertKeyCheck(tx, this.#checkValue);

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
    const opened = this.#opened.get(stored);
    if (opened?.place === place) return opened.secret;
    const secret = this.#decipher(stored, place);
    this.#opened.set(stored, { secret, place });
    return secret;
  }

  #decipher(stored: Uint8Array, place: Place): string {
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

function otherKey(): DomainError {
  return new DomainError(
    "key_missing",
    "This is not the key that the server of this workspace keeps its secrets under, so it could not read a new one. " +
      "Set PARLEY_SECRET_KEY to the server's, or put its secret.key back, and try again; where that key is lost, " +
      "start the server with this one first.",
  );
}

function keyMissing(what: string): DomainError {
  return new DomainError(
    "key_missing",
    `${what} Put secret.key back from a copy of the data folder, or set PARLEY_SECRET_KEY, and start again; ` +
      "where it is lost, rotate the secret.",
  );
}
