import { record } from "../audit/audit.ts";
import type { Connection, Transaction } from "../database/database.ts";
import { DomainError, invalid } from "../errors.ts";
import { timestamp } from "../timestamp.ts";
import { deleteEmoji, insertEmoji, selectEmoji } from "./store.ts";
import { now } from "../system/repeatable.ts";

/** A custom emoji of a team, as the command line shows it. */
export type CustomEmoji = { name: string; created_at: string };

/** At most 30 characters, so that with both colons a shortcode fits the 32 that a reaction may have. */
const nameShape = /^[a-z0-9][a-z0-9_+-]{0,29}$/;

/** In bytes: plenty for an image the size of a line of text. */
const imageBytesMax = 256 * 1024;

/** The magic bytes of each image format, as Latin-1. RIFF also holds sound; its third word names the content. */
const imageBeginnings = [/^\x89PNG/, /^GIF8/, /^\xff\xd8\xff/, /^RIFF[^]{4}WEBP/];

/**
 * Adds a custom emoji to the team and returns it. `name` may have its colons; `image` is a PNG, GIF, JPEG or WebP file.
 * @throws DomainError `invalid` on `name` (malformed or taken) or on `image` (another format, or over 256 KiB).
 */
export async function addEmoji(
  tx: Transaction,
  teamId: string,
  input: { name: string; image?: Uint8Array | undefined },
  actor: string,
): Promise<CustomEmoji> {
  const name = bareName(input.name);
  if (!nameShape.test(name)) {
    throw invalid({
      name: ["The name field takes 1 to 30 characters of a-z, 0-9, _, + and -, starting with a-z or 0-9."],
    });
  }
  if (input.image && input.image.length > imageBytesMax) {
    throw invalid({ image: [`The image must not be larger than ${imageBytesMax / 1024} KiB.`] });
  }
  if (input.image && !isImage(input.image))
    throw invalid({ image: ["The image must be a PNG, GIF, JPEG or WebP file."] });

  const row = { teamId, name, image: input.image ? Buffer.from(input.image) : null, createdAt: now() };
  if (!(await insertEmoji(tx, row))) throw invalid({ name: [`The emoji :${name}: already exists.`] });
  await record(tx, { teamId, actor, action: "emoji.added", target: `emoji:${name}` });
  return { name, created_at: timestamp(row.createdAt) };
}

/**
 * Removes a custom emoji, with or without colons, and returns it. Existing reactions with it stay.
 * @throws DomainError `not_found`.
 */
export async function removeEmoji(
  tx: Transaction,
  teamId: string,
  reference: string,
  actor: string,
): Promise<CustomEmoji> {
  const name = bareName(reference);
  const row = await deleteEmoji(tx, teamId, name);
  if (!row) throw new DomainError("not_found", `There is no emoji :${name}:.`);
  await record(tx, { teamId, actor, action: "emoji.removed", target: `emoji:${name}` });
  return { name, created_at: timestamp(row.createdAt) };
}

/** Returns the team's custom emoji, by name. */
export async function listEmoji(db: Connection, teamId: string): Promise<CustomEmoji[]> {
  return (await selectEmoji(db, teamId)).map(({ name, createdAt }) => ({
    name,
    created_at: timestamp(createdAt),
  }));
}

/** Returns the name between the colons of a `:shortcode:`; undefined if the text is not one. */
export function shortcodeName(text: string): string | undefined {
  const bare = text.length > 2 && text.startsWith(":") && text.endsWith(":") ? text.slice(1, -1) : undefined;
  return bare !== undefined && nameShape.test(bare) ? bare : undefined;
}

function bareName(reference: string): string {
  return reference.replace(/^:|:$/g, "");
}

function isImage(bytes: Uint8Array): boolean {
  const beginning = Buffer.from(bytes.subarray(0, 12)).toString("latin1");
  return imageBeginnings.some((shape) => shape.test(beginning));
}
