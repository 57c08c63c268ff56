// What commonly happens to a secret or a body between Parley and the code that verifies.

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** The secret as given and as it may have been meant, each with what would have happened to it. */
export function changedSecrets(secret) {
  const bare = secret.trim().replaceAll(/^["'`]+|["'`]+$/g, "");
  const candidates = [
    [undefined, secret],
    ["The secret has white space around it.", secret.trim()],
    ["The secret is in quotation marks.", bare],
    ["The secret lacks its beginning: whsec_ belongs to it.", `whsec_${bare}`],
  ];
  return distinct(candidates);
}

/** The body as given and as it may have been sent, each with what would have happened to it. */
export function changedBodies(body, samples) {
  const text = decoder.decode(body);
  const json = parsed(text);
  const candidates = [
    [undefined, text],
    [
      "The body has white space at its end that was not sent: a newline of an editor or of echo.",
      text.trimEnd(),
    ],
    ["The body begins with a byte order mark that was not sent.", text.replace(/^\uFEFF/, "")],
  ];
  if (json !== undefined) {
    const again = "The body was parsed and written again";
    candidates.push(
      [
        `${again}: its spaces, line breaks or escapes changed. Verify the bytes as they arrive.`,
        JSON.stringify(json),
      ],
      [
        `${again}: the order of its fields changed. Verify the bytes as they arrive.`,
        JSON.stringify(inOrderOf(samples[json.type], json)),
      ],
    );
  }
  return distinct(candidates).map(([change, candidate]) => [
    change,
    change === undefined ? body : encoder.encode(candidate),
  ]);
}

/** What looks wrong about a delivery by itself, in sentences. */
export function oddities({ headers, body, secret }) {
  const found = [];
  const text = decoder.decode(body);
  const json = parsed(text);
  const delivery = headers.get("x-service-delivery") ?? headers.get("webhook-id");
  if (secret === "") found.push("The secret is missing.");
  else if (!secret.startsWith("whsec_"))
    found.push("The secret does not begin with whsec_, so it is not a signing secret of Parley.");
  else if (/^whsec_[0-9A-Za-z]{48}$/.test(secret) && !hasChecksum(secret))
    found.push("If Parley made this secret, a character of it was changed: its checksum is wrong.");
  if (body.length === 0) found.push("The body is empty: perhaps a framework has read it already.");
  else if (json === undefined)
    found.push("The body is not JSON. Parley sends JSON, so it was changed or cut off.");
  else if (delivery !== undefined && json.id !== delivery)
    found.push("The body has another id than the headers: they belong to different deliveries.");
  return found;
}

/** The first of the candidates for each text. */
function distinct(candidates) {
  const seen = new Set();
  return candidates.filter(([, text]) => !seen.has(text) && seen.add(text));
}

/** The object that the text is, undefined if it is none. */
function parsed(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The value with its fields in the sample's order; fields that the sample lacks come last. */
function inOrderOf(sample, value) {
  if (Array.isArray(value)) return value.map((item) => inOrderOf(sample?.[0], item));
  if (typeof value !== "object" || value === null) return value;
  const names = [...new Set([...Object.keys(sample ?? {}), ...Object.keys(value)])];
  return Object.fromEntries(
    names.filter((name) => name in value).map((name) => [name, inOrderOf(sample?.[name], value[name])]),
  );
}

/** Whether the last six characters are the checksum of those before: the CRC-32 to the base of 62. */
function hasChecksum(secret) {
  const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  let rest = crc32(encoder.encode(secret.slice(0, -6)));
  let checksum = "";
  for (let i = 0; i < 6; i++) {
    checksum = digits[rest % 62] + checksum;
    rest = Math.floor(rest / 62);
  }
  return secret.endsWith(checksum);
}

function crc32(bytes) {
  let remainder = ~0;
  for (const byte of bytes) {
    remainder ^= byte;
    for (let bit = 0; bit < 8; bit++) remainder = (remainder >>> 1) ^ (remainder & 1 ? 0xedb88320 : 0);
  }
  return ~remainder >>> 0;
}
