import { Type, type Static } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { SealedKey } from "./sealed-key.ts";

/** The version of the format of the whole file. */
export const formatVersion = 1;

/** What a backup says about itself. */
export const Manifest = Type.Object({
  format: Type.Literal(formatVersion),
  /** Of this backup. */
  id: Type.String(),
  /** Of the workspace: that of its first team; empty while there is none. */
  workspace: Type.String(),
  /** The version of parley that made the backup. */
  parley: Type.String(),
  created_at: Type.String(),
  base_url: Type.String(),
  /** The names of the migrations that the data has. */
  migrations: Type.Array(Type.String()),
  teams: Type.Integer(),
  database: Type.Object({ bytes: Type.Integer({ minimum: 0 }), sha256: Type.String() }),
  /** Null: the key is not in the backup. */
  key: Type.Union([SealedKey, Type.Null()]),
});
export type Manifest = Static<typeof Manifest>;

/** The manifest in the text; its format if that is another one; undefined if it is neither. */
export function parseManifest(
  text: string,
): { manifest: Manifest } | { format: number; parley: string } | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (Value.Check(Manifest, parsed)) return { manifest: parsed };
  const other = Type.Object({ format: Type.Integer({ minimum: formatVersion + 1 }), parley: Type.String() });
  return Value.Check(other, parsed) ? parsed : undefined;
}
