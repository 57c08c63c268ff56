import { createCipheriv, createDecipheriv } from "node:crypto";
import type { Database, Transaction } from "../database/database.ts";
import { DomainError } from "../errors.ts";
import { randomBytes } from "../system/repeatable.ts";
import { type Key, KeyRing } from "./key-ring.ts";
import { selectKeyCheck, upsertKeyCheck } from "./store.ts";

const nonceBytes = 12;
const tagBytes = 16;

/** The row that a sealed secret belongs to, as `table:id`. It cannot be opened for another row. */
type Place = `${string}:${string}`;

/** What is sealed, as the operator calls it, and what to do about it if the key is lost. */
export type SealedKind = { name: string; remedy: string };

const signingSecret: SealedKind = { name: "signing secret", remedy: "rotate the secret" };

/**
 * Encrypts the secrets that must be read back to sign or to be sent (AES-256-GCM), each with its own nonce and bound to its row.
 * The database says which key encrypts the secrets of its workspace, so a process that has only another one is refused.
 * What is stored may be encrypted with any key of the ring: while the key is being rotated, there are two.
 */
export class Vault {
  readonly #keys: KeyRing;
  /** Cached plaintexts, each for as long as the sealed bytes that it came from are referenced. */
  readonly #opened = new WeakMap<Uint8Array, { secret: string; place: Place }>();

  /** `keys` is a ring of keys, or the only key, or undefined when there is none. */
  constructor(keys: KeyRing | Buffer | undefined) {
    this.#keys = keys instanceof KeyRing ? keys : new KeyRing(() => ({ own: keys }));
  }

  /** Whether it has the key that the workspace's secrets are encrypted with, or the workspace has none yet. */
  async hasKeyOf(database: Database): Promise<boolean> {
    const known = await database.ask(selectKeyCheck);
    return known === undefined || this.#keys.withCheck(known) !== undefined;
  }

  /**
   * Makes its own key the workspace's, as a server does at startup, unless the workspace's is one that it knows. Without
   * a key this does nothing. Returns whether the workspace had another key before. `mayAdopt` is called in the write
   * that would replace a key, and may refuse.
   * @throws DomainError `key_missing` when another server makes another key the workspace's at the same time; what
   *   `mayAdopt` throws.
   */
  async adopt(database: Database, mayAdopt: (tx: Transaction) => void = () => {}): Promise<boolean> {
    const { own } = this.#keys;
    const known = await database.ask(selectKeyCheck);
    if (!own || (known && this.#keys.withCheck(known))) return false;
    await database.write(async (tx) => {
      const now = await selectKeyCheck(tx);
      // Another server of the same database may have started at the same time.
      if (now && !(known?.equals(now) ?? now.equals(own.checkValue))) throw wrongKey();
      if (now) mayAdopt(tx);
      await upsertKeyCheck(tx, own.checkValue);
    });
    return known !== undefined;
  }

  /**
   * Checks, once others can see this server, that none has made another key the workspace's since `adopt`.
   * @throws DomainError `key_missing`.
   */
  async requireAdopted(database: Database): Promise<void> {
    if (this.#keys.own && !(await this.hasKeyOf(database))) throw wrongKey();
  }

  /**
   * Encrypts the secret for storage, with the workspace's key. The first secret makes this process's key the workspace's.
   * @throws DomainError `key_missing` when there is no key, or none of them is the workspace's.
   */
  async seal(tx: Transaction, secret: string, place: Place): Promise<Buffer> {
    const known = await selectKeyCheck(tx);
    const key = known ? this.#keys.withCheck(known) : this.#keys.own;
    if (!key) {
      if (this.#keys.own) throw wrongKey();
      throw keyError("The key file is missing, so no new secret can be stored.", signingSecret);
    }
    if (!known) await upsertKeyCheck(tx, key.checkValue);
    return encrypt(key, secret, place);
  }

  /**
   * Encrypts a stored secret anew if it is encrypted with another key than the workspace's; undefined if it is not.
   * @throws DomainError `key_missing` as `open` and `seal` do.
   */
  async reseal(tx: Transaction, stored: Uint8Array, place: Place): Promise<Buffer | undefined> {
    const known = await selectKeyCheck(tx);
    const key = known && this.#keys.withCheck(known);
    if (key && decrypt(key, stored, place) !== undefined) return undefined;
    return await this.seal(tx, this.open(stored, place), place);
  }

  /**
   * Decrypts the secret.
   * @throws DomainError `key_missing` when there is no key, it is the wrong one, or the stored bytes were altered.
   */
  open(stored: Uint8Array, place: Place, kind = signingSecret): string {
    const opened = this.#opened.get(stored);
    if (opened?.place === place) return opened.secret;
    const secret =
      this.#tryKeys(stored, place) ?? (this.#keys.refresh() ? this.#tryKeys(stored, place) : undefined);
    if (secret === undefined) {
      throw keyError(
        this.#keys.own
          ? `The ${kind.name} cannot be read with this key.`
          : `The key file is missing, so the ${kind.name} cannot be read.`,
        kind,
      );
    }
    this.#opened.set(stored, { secret, place });
    return secret;
  }

  #tryKeys(stored: Uint8Array, place: Place): string | undefined {
    for (const key of this.#keys.all) {
      const secret = decrypt(key, stored, place);
      if (secret !== undefined) return secret;
    }
    return undefined;
  }

  /** Why the stored secret cannot be read, as a sentence for the operator; undefined when it can. */
  whyUnreadable(stored: Uint8Array, place: Place, kind = signingSecret): string | undefined {
    try {
      this.open(stored, place, kind);
      return undefined;
    } catch (error) {
      if (error instanceof DomainError) return error.message;
      throw error;
    }
  }
}

function encrypt({ bytes }: Key, secret: string, place: Place): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv("aes-256-gcm", bytes, nonce);
  cipher.setAAD(Buffer.from(place));
  const sealed = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
}

/** The secret; undefined when it was encrypted with another key or for another row, or was altered. */
function decrypt({ bytes }: Key, stored: Uint8Array, place: Place): string | undefined {
  try {
    const decipher = createDecipheriv("aes-256-gcm", bytes, stored.subarray(0, nonceBytes), {
      authTagLength: tagBytes,
    });
    decipher.setAAD(Buffer.from(place));
    decipher.setAuthTag(stored.subarray(nonceBytes, nonceBytes + tagBytes));
    return (
      decipher.update(stored.subarray(nonceBytes + tagBytes), undefined, "utf8") + decipher.final("utf8")
    );
  } catch {
    return undefined;
  }
}

/** The error for a process that has keys, but not the workspace's. */
export function wrongKey(): DomainError {
  return new DomainError(
    "key_missing",
    "This is not the key that the server of this workspace encrypts its secrets with, so it could not read new " +
      "ones. Set PARLEY_SECRET_KEY to the server's key, or restore its secret.key, and try again; if that key is " +
      "lost, start the server with this key first.",
  );
}

function keyError(problem: string, { remedy }: SealedKind): DomainError {
  return new DomainError(
    "key_missing",
    `${problem} Restore secret.key from a backup of the data folder, or set PARLEY_SECRET_KEY, and start again; ` +
      `if the key is lost, ${remedy}.`,
  );
}
