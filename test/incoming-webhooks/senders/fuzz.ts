/** Numbers from 0 to below `below`, the same for the same seed (mulberry32). */
export function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

const strange: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1e308,
  "",
  " ",
  "\u0000",
  "\ud800",
  "\u202Eabc\u0007\u001B[31m",
  "a\r\nb".repeat(50),
  "x".repeat(20_000),
  "<".repeat(5_000),
  "*_~`[](".repeat(1_000),
  "<http://a|".repeat(1_000),
  "https://example.com/a b",
  [],
  {},
  [[[[[]]]]],
  ["text", 7, null, {}],
  { text: { text: { text: "deep" } } },
  { toString: "no function", length: 5, constructor: null },
];

/**
 * A copy of the sample in which up to five places are something else: missing, of another type, huge, or named like what
 * every object has.
 */
export function mutated(sample: unknown, random: (below: number) => number): unknown {
  const root = { sample: structuredClone(sample) };
  // Repetitions of repetitions would be too long to be sent.
  let repeatedMax = 200;
  for (let count = random(5); count >= 0; count--) {
    let place: Record<string, unknown> = root;
    let name = "sample";
    for (let depth = random(8); depth > 0; depth--) {
      const next = place[name];
      if (typeof next !== "object" || next === null || Object.keys(next).length === 0) break;
      place = next as Record<string, unknown>;
      name = Object.keys(next)[random(Object.keys(next).length)] ?? name;
    }
    const how = random(6);
    if (how === 0 && place !== root) delete place[name];
    else if (how === 1) place["__proto__x".slice(0, 9 + random(2))] = strange[random(strange.length)];
    else if (how === 2) {
      const repeated = place[name];
      place[name] = Array.from({ length: random(repeatedMax) }, () => repeated);
      repeatedMax = 3;
    } else place[name] = structuredClone(strange[random(strange.length)]);
  }
  return root.sample;
}
