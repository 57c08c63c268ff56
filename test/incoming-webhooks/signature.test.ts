import { describe, expect, test } from "bun:test";
import { isValidSignature } from "../../src/incoming-webhooks/signature.ts";

const secret = "whsec_new";
const body = new TextEncoder().encode('{"text":"héllo"}');
// printf '{"text":"héllo"}' | openssl dgst -sha256 -hmac whsec_new
const hex = "ca10bdb50c5bb7f5ae65aa9d6318a531b7ec2ff3e642f1c37166949a28237156";

describe("the signature of an incoming webhook", () => {
  test.each([
    ["bare digits", hex],
    ["digits behind sha256=", `sha256=${hex}`],
    ["digits in upper case", hex.toUpperCase()],
    ["upper case behind sha256=", `sha256=${hex.toUpperCase()}`],
  ])("is accepted as %s", (_, header) => {
    expect(isValidSignature(header, body, secret)).toBe(true);
  });

  test.each([
    ["missing", null],
    ["empty", ""],
    ["only a prefix", "sha256="],
    ["one digit short", hex.slice(1)],
    ["one byte short", hex.slice(2)],
    ["one digit long", `${hex}0`],
    ["one byte long", `${hex}00`],
    ["not hex at its end", `${hex.slice(0, -1)}g`],
    ["not hex at its start", `z${hex.slice(1)}`],
    ["not hex at all", "z".repeat(64)],
    ["base64", Buffer.from(hex, "hex").toString("base64")],
    ["named sha1", `sha1=${hex}`],
    ["named SHA256", `SHA256=${hex}`],
    ["prefixed twice", `sha256=sha256=${hex}`],
    ["two headers joined", `${hex}, ${hex}`],
    ["two prefixed headers joined", `sha256=${hex}, sha256=${hex}`],
    ["followed by a line end", `${hex}\n`],
    ["preceded by a space", ` ${hex}`],
    ["in full-width digits", "０".repeat(64)],
    ["in the form of outgoing deliveries", `t=1700000000,v1=${hex}`],
    ["100 KB long", hex.repeat(1600)],
    ["64 zeros", "0".repeat(64)],
  ])("is refused when it is %s", (_, header) => {
    expect(isValidSignature(header, body, secret)).toBe(false);
  });

  test.each([
    ["other white space", '{"text": "héllo"}'],
    ["a byte order mark", '\uFEFF{"text":"héllo"}'],
    ["one character changed", '{"text":"hèllo"}'],
    ["another Unicode form", '{"text":"he\u0301llo"}'],
    ["a line end added", '{"text":"héllo"}\n'],
    ["nothing in it", ""],
  ])("is refused for a body with %s", (_, text) => {
    expect(isValidSignature(hex, new TextEncoder().encode(text), secret)).toBe(false);
  });

  test.each(["whsec_old", "new", "whsec_new ", ""])("is refused under the secret %p", (other) => {
    expect(isValidSignature(hex, body, other)).toBe(false);
  });

  test("covers bytes that are not text", () => {
    const bytes = new Uint8Array([0xff, 0x00, 0xfe]);
    const digest = new Bun.CryptoHasher("sha256", secret).update(bytes).digest("hex");
    expect(isValidSignature(digest, bytes, secret)).toBe(true);
    expect(isValidSignature(digest, new Uint8Array([0xff, 0x00, 0xfd]), secret)).toBe(false);
  });
});
