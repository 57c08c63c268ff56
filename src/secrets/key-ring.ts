import { createHmac } from "node:crypto";
import { DomainError } from "../errors.ts";

/** A key, and what identifies it without telling anything about it. */
export type Key = { bytes: Buffer; checkValue: Buffer };

/** The maximum number of keys that a process remembers. */
const keysMax = 4;

/** The key with the value that identifies it. */
export function keyOf(bytes: Buffer): Key {
  return { bytes, checkValue: createHmac("sha256", bytes).update("parley secret key").digest() };
}

/** The name of a key for people: the first digits of its check value. */
export function keyName(checkValue: Buffer): string {
  return checkValue.toString("hex", 0, 4);
}

/** The keys that there are: that of the settings or the key file, and the new one of a rotation. */
export type FoundKeys = { own: Buffer | undefined; next?: Buffer | undefined };

/**
 * The keys that the secrets of a workspace may be encrypted with: one, or two while the key is being rotated. `find`
 * reads them; `version` changes when reading them again may find others.
 */
export class KeyRing {
  readonly #find: () => FoundKeys;
  readonly #version: () => string;
  #seen: string;
  #own: Key | undefined;
  #keys: readonly Key[] = [];

  /** @throws what `find` throws. */
  constructor(find: () => FoundKeys, version: () => string = () => "") {
    this.#find = find;
    this.#version = version;
    this.#seen = version();
    this.#read();
  }

  /** The key of the settings or the key file; undefined when there is none. */
  get own(): Key | undefined {
    return this.#own;
  }

  /** All known keys, each once. */
  get all(): readonly Key[] {
    return this.#keys;
  }

  /** The key with this check value, read again if it is not known; undefined when there is no such key. */
  withCheck(checkValue: Buffer): Key | undefined {
    return this.#known(checkValue) ?? (this.refresh() ? this.#known(checkValue) : undefined);
  }

  /**
   * Reads the keys again if they may have changed. Earlier keys stay known, because what was read from the database a
   * moment ago may be encrypted with them; and so they do when a file is not to be trusted any more. Returns whether
   * it read them.
   */
  refresh(): boolean {
    const version = this.#version();
    if (version === this.#seen) return false;
    try {
      this.#read();
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
    }
    this.#seen = version;
    return true;
  }

  #read(): void {
    const { own, next } = this.#find();
    const [ownKey, nextKey] = [own && keyOf(own), next && keyOf(next)];
    const keys: Key[] = [];
    for (const key of [ownKey, nextKey, ...this.#keys]) {
      if (key && !keys.some(({ checkValue }) => checkValue.equals(key.checkValue))) keys.push(key);
    }
    this.#own = ownKey;
    this.#keys = keys.slice(0, keysMax);
  }

  #known(checkValue: Buffer): Key | undefined {
    return this.#keys.find((key) => key.checkValue.equals(checkValue));
  }
}
