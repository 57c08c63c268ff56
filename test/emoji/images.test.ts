import { expect, test } from "bun:test";
import { addEmoji } from "../../src/emoji/emoji.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { actor, openWorkspace } from "../support/workspace.ts";

const beginnings: Array<[string, string, boolean]> = [
  ["PNG", "\x89PNG\r\n\x1a\n....", true],
  ["GIF", "GIF89a......", true],
  ["JPEG", "\xff\xd8\xff\xe0........", true],
  ["WebP", "RIFF\x24\x00\x00\x00WEBPVP8 ", true],
  ["WAV sound", "RIFF\x24\x00\x00\x00WAVEfmt ", false],
  ["RIFF file that ends early", "RIFF\x24\x00\x00\x00", false],
  ["text", "WEBPRIFF....", false],
];

test.each(beginnings)("an emoji made of a %s: is it an image?", async (_kind, beginning, isImage) => {
  using folder = temporaryFolder();
  await using workspace = await openWorkspace(folder.path);
  const { id } = await workspace.team("Acme");
  const image = Buffer.from(beginning, "latin1");
  const added = workspace.database.write((tx) => addEmoji(tx, id, { name: "sound", image }, actor));
  if (isImage) expect(await added).toMatchObject({ name: "sound" });
  else expect(added).rejects.toThrow("must be a PNG, GIF, JPEG or WebP file");
});
