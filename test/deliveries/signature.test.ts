import { describe, expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import {
  deliverySignature,
  verifyDeliverySignature,
  verifyStandardSignature,
} from "../../src/deliveries/signature.ts";

const body = '{"text":"héllo"}';
const signedAt = 1_700_000_000;
// printf '1700000000.{"text":"héllo"}' | openssl dgst -sha256 -hmac whsec_new, and the same with whsec_old
const newHex = "230effc261aed2c94b6cc71ea18ccdcad9c4dffe4157ecc86b3f1cb571ee86c6";
const oldHex = "00b389e96aafdc3b91c6a2c07c9528c3a26cdd8055f18e2d70a4d37d0959d8e7";
const header = `t=${signedAt},v1=${newHex}`;

describe("the signature of a delivery", () => {
  test("consists of the time and the digest that openssl computes for time, dot and body", () => {
    expect(deliverySignature(["whsec_new"], signedAt, body)).toBe(header);
  });

  test("is the same for a body as bytes and as text", () => {
    expect(deliverySignature(["whsec_new"], signedAt, new TextEncoder().encode(body))).toBe(header);
  });

  test("has a digest for each secret during the overlap of a rotation, in the given order", () => {
    const both = deliverySignature(["whsec_new", "whsec_old"], signedAt, body);
    expect(both).toBe(`t=${signedAt},v1=${newHex},v1=${oldHex}`);
    for (const secret of ["whsec_new", "whsec_old"]) {
      expect(verifyDeliverySignature(both, body, secret, signedAt)).toEqual({
        ok: true,
        timestampSeconds: signedAt,
      });
    }
  });
});

describe("a receiver", () => {
  test.each([
    ["at once", signedAt],
    ["300 seconds later", signedAt + 300],
    ["with a clock 300 seconds behind", signedAt - 300],
  ])("accepts a delivery %s", (_, now) => {
    expect(verifyDeliverySignature(header, body, "whsec_new", now)).toEqual({
      ok: true,
      timestampSeconds: signedAt,
    });
  });

  test.each([
    ["301 seconds later", signedAt + 301],
    ["with a clock 301 seconds behind", signedAt - 301],
  ])("finds a delivery stale %s", (_, now) => {
    expect(verifyDeliverySignature(header, body, "whsec_new", now)).toEqual({ ok: false, reason: "stale" });
  });

  test.each([
    ["another body", header, "{}", "whsec_new"],
    ["another secret", header, body, "whsec_other"],
    ["another time than the signed one", `t=${signedAt + 1},v1=${newHex}`, body, "whsec_new"],
    [
      "digits that are wrong in the last place",
      `${header.slice(0, -1)}${header.endsWith("0") ? "1" : "0"}`,
      body,
      "whsec_new",
    ],
    ["two digests of which none fits", `${header},v1=${oldHex}`, body, "whsec_other"],
  ])("finds a mismatch for %s", (_, given, text, secret) => {
    expect(verifyDeliverySignature(given, text, secret, signedAt)).toEqual({ ok: false, reason: "mismatch" });
  });

  test("reports a wrong signature rather than a stale one", () => {
    const verdict = verifyDeliverySignature(header, "{}", "whsec_new", signedAt + 10_000);
    expect(verdict).toEqual({ ok: false, reason: "mismatch" });
  });

  test.each([null, ""])("finds no signature in %p", (given) => {
    expect(verifyDeliverySignature(given, body, "whsec_new", signedAt)).toEqual({
      ok: false,
      reason: "missing",
    });
  });

  test("ignores unknown fields", () => {
    const given = `t=${signedAt},v0=abc,v1=${newHex},v2=zzz`;
    expect(verifyDeliverySignature(given, body, "whsec_new", signedAt).ok).toBe(true);
  });

  test.each([
    ["no time", `v1=${newHex}`],
    ["two times", `t=${signedAt},${header}`],
    ["no digest", `t=${signedAt}`],
    ["an empty time", `t=,v1=${newHex}`],
    ["a negative time", `t=-1,v1=${newHex}`],
    ["a signed time", `t=+${signedAt},v1=${newHex}`],
    ["a leading zero", `t=0${signedAt},v1=${newHex}`],
    ["a fraction", `t=${signedAt}.0,v1=${newHex}`],
    ["an exponent", `t=1e9,v1=${newHex}`],
    ["a time past all clocks", `t=99999999999999999999,v1=${newHex}`],
    ["NaN", `t=NaN,v1=${newHex}`],
    ["63 digits", `t=${signedAt},v1=${newHex.slice(1)}`],
    ["65 digits", `t=${signedAt},v1=${newHex}0`],
    ["digits in upper case", `t=${signedAt},v1=${newHex.toUpperCase()}`],
    ["digits that are not hex", `t=${signedAt},v1=${"z".repeat(64)}`],
    ["a broken digest beside a good one", `${header},v1=abz1`],
    ["spaces after the commas", `t=${signedAt}, v1=${newHex}`],
    ["a field without a value", `${header},v1`],
    ["bare digits", newHex],
    ["a trailing comma", `${header},`],
  ])("finds the header malformed that has %s", (_, given) => {
    expect(verifyDeliverySignature(given, body, "whsec_new", signedAt)).toEqual({
      ok: false,
      reason: "malformed",
    });
  });
});

describe("a receiver that follows Standard Webhooks", () => {
  const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  const signature = new Webhook(secret).sign("msg_1", new Date(signedAt * 1000), body);
  const sent = { id: "msg_1", timestamp: `${signedAt}`, signature };

  function verdict(changed: Partial<typeof sent> = {}, now = signedAt, raw = body) {
    const headers = Object.entries({ ...sent, ...changed }).map(([name, value]) => [
      `webhook-${name}`,
      value,
    ]);
    return verifyStandardSignature(new Headers(headers as Array<[string, string]>), raw, secret, now);
  }

  test("accepts what the library signs, also together with the signature of another secret", () => {
    const believed = { ok: true as const, timestampSeconds: signedAt };
    expect(verdict({}, signedAt + 300)).toEqual(believed);
    const other = new Webhook("whsec_AAAA").sign("msg_1", new Date(signedAt * 1000), body);
    expect(verdict({ signature: `${other} v1a,unknown ${signature}` })).toEqual(believed);
  });

  test.each([
    ["missing", { signature: "" }],
    ["missing", { id: "" }],
    ["malformed", { signature: "v1,short" }],
    ["malformed", { signature: signature.replace("v1,", "v2,") }],
    ["malformed", { timestamp: `0${signedAt}` }],
    ["mismatch", { id: "msg_2" }],
    ["mismatch", { timestamp: `${signedAt + 1}` }],
  ])("reports %s for a delivery with %j", (reason, changed) => {
    expect(verdict(changed)).toEqual({ ok: false, reason } as ReturnType<typeof verdict>);
  });

  test("finds another body a mismatch, and an old delivery stale", () => {
    expect(verdict({}, signedAt, "{}")).toEqual({ ok: false, reason: "mismatch" });
    expect(verdict({}, signedAt + 301)).toEqual({ ok: false, reason: "stale" });
  });
});
