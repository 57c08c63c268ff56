// HMAC-SHA256 (RFC 2104, FIPS 180-4). Web Crypto has it too, but only in a secure context: without it on http:// under
// any name but localhost, which is how many servers in a private network are opened.

const primes = firstPrimes(64);
const roundConstants = primes.map((prime) => fractionBits(Math.cbrt(prime)));
const initialHash = primes.slice(0, 8).map((prime) => fractionBits(Math.sqrt(prime)));
const blockBytes = 64;

/** The HMAC-SHA256 of the text under the key; all are bytes. */
export function hmacSha256(key, text) {
  const block = new Uint8Array(blockBytes);
  block.set(key.length > blockBytes ? sha256(key) : key);
  const inner = sha256(
    joined(
      block.map((byte) => byte ^ 0x36),
      text,
    ),
  );
  return sha256(
    joined(
      block.map((byte) => byte ^ 0x5c),
      inner,
    ),
  );
}

/** The bytes of both, one after the other. */
export function joined(first, second) {
  const bytes = new Uint8Array(first.length + second.length);
  bytes.set(first);
  bytes.set(second, first.length);
  return bytes;
}

function sha256(message) {
  const blocks = Math.ceil((message.length + 9) / blockBytes);
  const padded = new Uint8Array(blocks * blockBytes);
  padded.set(message);
  padded[message.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, BigInt(message.length) * 8n);

  const hash = Uint32Array.from(initialHash);
  const words = new Uint32Array(64);
  for (let at = 0; at < padded.length; at += blockBytes) {
    for (let i = 0; i < 16; i++) words[i] = view.getUint32(at + 4 * i);
    for (let i = 16; i < 64; i++) {
      const early = words[i - 15];
      const late = words[i - 2];
      const s0 = rotated(early, 7) ^ rotated(early, 18) ^ (early >>> 3);
      const s1 = rotated(late, 17) ^ rotated(late, 19) ^ (late >>> 10);
      words[i] = words[i - 16] + s0 + words[i - 7] + s1;
    }
    compress(hash, words);
  }
  const digest = new DataView(new ArrayBuffer(32));
  hash.forEach((word, i) => digest.setUint32(4 * i, word));
  return new Uint8Array(digest.buffer);
}

/** Mixes the words of a block into the hash. The letters are those of the standard. */
function compress(hash, words) {
  let [a, b, c, d, e, f, g, h] = hash;
  for (let i = 0; i < 64; i++) {
    const s1 = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25);
    const s0 = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22);
    const choice = (e & f) ^ (~e & g);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const first = h + s1 + choice + roundConstants[i] + words[i];
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) >>> 0, c, b, a, (first + s0 + majority) >>> 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => {
    hash[i] += word;
  });
}

function rotated(word, bits) {
  return (word >>> bits) | (word << (32 - bits));
}

/** The first 32 bits of the number's fraction. */
function fractionBits(number) {
  return Math.floor((number % 1) * 2 ** 32);
}

function firstPrimes(count) {
  const found = [];
  for (let number = 2; found.length < count; number++) {
    if (found.every((prime) => number % prime !== 0)) found.push(number);
  }
  return found;
}
