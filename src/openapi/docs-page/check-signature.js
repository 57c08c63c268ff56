// Says whether the signatures of a delivery match, and if not, why: it tries what commonly happens to secrets and
// bodies on their way, and names what would have matched.
import { hmacSha256, joined } from "./hmac-sha256.js";
import { changedBodies, changedSecrets, oddities } from "./common-changes.js";

/** How far a timestamp may be from the clock, in seconds. */
const tolerance = 300;

const encoder = new TextEncoder();

/**
 * Judges both schemes. `given` has `headers` (a Map with lower-case names), `body` (bytes), `secret`, `now` (in seconds
 * since 1970) and `samples` (an envelope for each event type). Each verdict has an `outcome` ("matches", "stale",
 * "refused" or "missing"), `reasons` in sentences and, where it could be computed, the `expected` signature.
 */
export function checkSignatures(given) {
  const verdicts = [specified, standard].map((scheme) => checkScheme(scheme, given));
  const [service, standardWebhooks] = verdicts.map((verdict, i) =>
    explained(verdict, verdicts[1 - i], given),
  );
  return { service, standardWebhooks };
}

/** `X-Service-Signature: t=…,v1=<hex>` over `<t>.<body>`. */
const specified = {
  key: (secret) => encoder.encode(secret),
  encoding: "hex",
  written: (digest, time) => `t=${time},v1=${toHex(digest)}`,
  read(headers) {
    const header = headers.get("x-service-signature");
    if (!header) return { missing: ["X-Service-Signature"] };
    const fields = header.split(",").map((field) => field.trim().split(/=(.*)/s));
    const times = fields.filter(([name]) => name === "t").map(([, value]) => value);
    const digests = fields.filter(([name]) => name === "v1").map(([, value]) => value);
    if (times.length === 0) return { malformed: "X-Service-Signature has no t=…, the time of sending." };
    if (times.length > 1)
      return { malformed: "X-Service-Signature has more than one t=…: two headers were joined." };
    if (digests.length === 0) return { malformed: "X-Service-Signature has no v1=…, the digest." };
    return { time: times[0], digests, prefix: `${times[0]}.` };
  },
};

/** `webhook-signature: v1,<base64>` over `<id>.<timestamp>.<body>`. */
const standard = {
  key: (secret) => fromBase64(secret.replace(/^whsec_/, "")),
  encoding: "base64",
  written: (digest) => `v1,${toBase64(digest)}`,
  read(headers) {
    const names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
    const missing = names.filter((name) => !headers.get(name));
    if (missing.length > 0) return { missing };
    const [id, time, header] = names.map((name) => headers.get(name));
    const digests = header
      .split(" ")
      .filter((part) => part.startsWith("v1,"))
      .map((part) => part.slice("v1,".length));
    if (digests.length === 0) return { malformed: "webhook-signature has no part that begins with v1," };
    return { time, digests, prefix: `${id}.${time}.` };
  },
};

function checkScheme(scheme, { headers, body, secret, now, samples }) {
  const { missing, malformed, time, digests, prefix } = scheme.read(headers);
  if (missing)
    return { outcome: "missing", reasons: missing.map((name) => `The header ${name} is missing.`) };
  if (malformed) return { outcome: "refused", reasons: [malformed] };
  if (!/^(?:0|[1-9][0-9]{0,14})$/.test(time))
    return { outcome: "refused", reasons: [`The timestamp “${time}” is not a whole number of seconds.`] };
  if (Number(time) > 1e11)
    return {
      outcome: "refused",
      reasons: ["The timestamp is in milliseconds. Parley sends seconds, so the header was changed."],
    };

  const digestWith = (someSecret, someBody) => {
    const key = scheme.key(someSecret);
    return key && hmacSha256(key, joined(encoder.encode(prefix), someBody));
  };
  const isGiven = (computed) => computed && digests.includes(encoded(computed, scheme.encoding));
  const digest = digestWith(secret, body);
  const expected = digest && scheme.written(digest, time);
  if (isGiven(digest)) return { ...ofAge(now - Number(time)), expected };

  const refused = (reasons) => ({ outcome: "refused", reasons, expected });
  const rewritten = digest && inAnotherEncoding(digest, digests, scheme.encoding);
  if (rewritten) return refused([rewritten]);
  for (const [secretChange, someSecret] of changedSecrets(secret)) {
    for (const [bodyChange, someBody] of changedBodies(body, samples)) {
      if (isGiven(digestWith(someSecret, someBody)))
        return refused([secretChange, bodyChange].filter((change) => change !== undefined));
    }
  }
  if (!digest) return refused(["The text after whsec_ is not base64, so it is no key for this scheme."]);
  return refused(truncated(digests, scheme.encoding));
}

/** A digest that matches, by the seconds since it was made. */
function ofAge(age) {
  if (Math.abs(age) <= tolerance) return { outcome: "matches", reasons: [] };
  const reason =
    age > 0
      ? `It is genuine but was signed ${inWords(age)} ago. A receiver refuses what is older than five minutes, ` +
        "because somebody may be sending a recorded request again."
      : `It is genuine, but its time is ${inWords(-age)} ahead of this machine's clock. Set the clocks.`;
  return { outcome: "stale", reasons: [reason] };
}

/** Why the right digest does not count, if one is given in another way of writing. */
function inAnotherEncoding(digest, digests, encoding) {
  const isLike = (written) =>
    digests.some(
      (given) => given.toLowerCase().replace(/=+$/, "") === written.toLowerCase().replace(/=+$/, ""),
    );
  const other = encoding === "hex" ? "base64" : "hex";
  if (digests.includes(encoded(digest, other)) || (other === "hex" && isLike(toHex(digest))))
    return `The digest is the right one, but it is written in ${other}. This header has it in ${encoding}.`;
  if (encoding === "hex" && isLike(toHex(digest)))
    return "The digest is the right one, but in capital letters. Parley writes lower case, so the header was changed.";
  if (encoding === "base64" && isLike(toBase64(digest)) && digests.some((given) => !given.endsWith("=")))
    return "The digest is the right one, but the = at its end was cut off.";
  return undefined;
}

function truncated(digests, encoding) {
  const length = encoding === "hex" ? 64 : 44;
  const short = digests.find((digest) => digest.length !== length);
  if (short === undefined) return [];
  return [`A digest in ${encoding} has ${length} characters, but this one has ${short.length}.`];
}

/** Adds what can only be said with a look at the other scheme, or when nothing else is known. */
function explained(verdict, other, given) {
  const hasOther = ["matches", "stale"].includes(other.outcome);
  if (verdict.outcome === "missing") {
    const reasons = [...verdict.reasons, ...renamed(given.headers)];
    if (hasOther) reasons.push("The other scheme is enough: check either one.");
    else reasons.push("Paste every header of the request. A proxy or a framework may have dropped some.");
    return { ...verdict, reasons };
  }
  if (verdict.outcome !== "refused" || verdict.reasons.length > 0) return verdict;
  if (hasOther) {
    const reason =
      "The other signature matches, so secret and body are right: this header itself was changed.";
    return { ...verdict, reasons: [reason] };
  }
  return {
    ...verdict,
    reasons: [
      ...oddities(given),
      "The secret is another one, or the body is not what was sent, byte for byte. Is it the secret of this very " +
        "subscription, and has it been rotated since? Is the body taken before anything parses it?",
    ],
  };
}

function renamed(headers) {
  if (!headers.has("x-signature-256")) return [];
  return ["X-Signature-256 belongs to incoming webhooks: it signs what you send to Parley."];
}

function encoded(digest, encoding) {
  return encoding === "hex" ? toHex(digest) : toBase64(digest);
}

function toHex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function toBase64(bytes) {
  return btoa(String.fromCharCode(...bytes));
}

/** The bytes; undefined unless the text is base64 alone. */
function fromBase64(text) {
  // atob skips white space.
  if (/\s/.test(text)) return undefined;
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function inWords(seconds) {
  const units = [
    [86_400, "day"],
    [3_600, "hour"],
    [60, "minute"],
  ];
  const [size, name] = units.find(([unit]) => seconds >= unit) ?? [1, "second"];
  const count = Math.floor(seconds / size);
  return `${count.toLocaleString("en")} ${name}${count === 1 ? "" : "s"}`;
}
