import { createCipheriv, createDecipheriv, scryptSync } from "node:crypto";
import { Type, type Static } from "@sinclair/typebox";
import { DomainError } from "../errors.ts";
import { randomBytes } from "../system/repeatable.ts";

/** The cost of guessing a passphrase: 128 MiB of memory and a third of a second for each try. */
const cost = { n: 2 ** 17, r: 8, p: 1 };

/** Beyond these a file asks for more memory or time than a backup of ours would. */
const costMax = { n: 2 ** 20, r: 16, p: 4 };

const memoryMax = 2 * 128 * costMax.n * costMax.r;

/** The text of a key file under AES-256-GCM, whose key scrypt derives from a passphrase. Bytes are in base64. */
export const SealedKey = Type.Object({
  cipher: Type.Literal("aes-256-gcm"),
  kdf: Type.Literal("scrypt"),
  n: Type.Integer({ minimum: 2, maximum: costMax.n }),
  r: Type.Integer({ minimum: 1, maximum: costMax.r }),
  p: Type.Integer({ minimum: 1, maximum: costMax.p }),
  salt: Type.String(),
  nonce: Type.String(),
  tag: Type.String(),
  sealed: Type.String(),
});
export type SealedKey = Static<typeof SealedKey>;

/** Seals the text of a key file with the passphrase, bound to the backup with this id. */
export function sealKey(text: string, passphrase: string, backupId: string): SealedKey {
  const [salt, nonce] = [randomBytes(16), randomBytes(12)];
  const cipher = createCipheriv("aes-256-gcm", derive(passphrase, salt, cost), nonce);
  cipher.setAAD(Buffer.from(backupId));
  const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  return {
    cipher: "aes-256-gcm",
    kdf: "scrypt",
    ...cost,
    salt: salt.toString("base64"),
    nonce: nonce.toString("base64"),
    tag: cipher.getAuthTag().toString("base64"),
    sealed: sealed.toString("base64"),
  };
}

/**
 * The text of the key file.
 * @throws DomainError `invalid` for another passphrase.
 */
export function openKey(key: SealedKey, passphrase: string, backupId: string): string {
  const [salt, nonce, tag, sealed] = [key.salt, key.nonce, key.tag, key.sealed].map((text) =>
    Buffer.from(text, "base64"),
  ) as [Buffer, Buffer, Buffer, Buffer];
  try {
    const decipher = createDecipheriv("aes-256-gcm", derive(passphrase, salt, key), nonce, {
      authTagLength: 16,
    });
    decipher.setAAD(Buffer.from(backupId));
    decipher.setAuthTag(tag);
    return decipher.update(sealed, undefined, "utf8") + decipher.final("utf8");
  } catch {
    throw new DomainError(
      "invalid",
      "This is not the passphrase that the key in the backup is sealed with. Nothing was changed. Try again, or " +
        "restore without the key: --without-key.",
    );
  }
}

function derive(passphrase: string, salt: Buffer, { n, r, p }: { n: number; r: number; p: number }): Buffer {
  // Normalized, so that the same passphrase typed on another system is the same.
  return scryptSync(passphrase.normalize("NFC"), salt, 32, { N: n, r, p, maxmem: memoryMax });
}
