import { expect, test } from "bun:test";
import { type Span, timelineOf } from "../../src/deliveries/timeline.ts";

const turn = { cause: "turn", what: "waited" } as const;
const span = (from: number, to: number, cause: Span["cause"]): Span => ({ from, to, cause, what: cause });
const parts = (spans: readonly Span[]) => spans.map(({ from, to, cause }) => [from, to, cause]);

test("time without a known cause is between and around those that are known", () => {
  const spans = [span(40, 50, "attempt"), span(10, 20, "attempt")];
  expect(parts(timelineOf({ from: 0, to: 60 }, spans, turn))).toEqual([
    [0, 10, "turn"],
    [10, 20, "attempt"],
    [20, 40, "turn"],
    [40, 50, "attempt"],
    [50, 60, "turn"],
  ]);
});

test("where spans overlap, the first of them counts, and what lies outside is cut off", () => {
  const spans = [span(10, 20, "attempt"), span(-5, 15, "disabled"), span(5, 99, "backoff")];
  expect(parts(timelineOf({ from: 0, to: 60 }, spans, turn))).toEqual([
    [0, 10, "disabled"],
    [10, 20, "attempt"],
    [20, 60, "backoff"],
  ]);
});

test("a span without a duration is a part between its neighbours", () => {
  expect(parts(timelineOf({ from: 0, to: 9 }, [span(4, 4, "attempt"), span(9, 9, "attempt")], turn))).toEqual(
    [
      [0, 4, "turn"],
      [4, 4, "attempt"],
      [4, 9, "turn"],
      [9, 9, "attempt"],
    ],
  );
});

test("whatever the spans are, the parts add up to the whole", () => {
  const causes = ["attempt", "disabled", "backoff", "pace"] as const;
  for (let round = 0; round < 500; round++) {
    const random = () => Math.floor(Math.random() * 120) - 10;
    const spans = causes.map((cause) => {
      const from = random();
      return span(from, from + Math.abs(random()), cause);
    });
    const timeline = timelineOf({ from: 0, to: 100 }, spans, turn);
    expect(
      timeline.reduce((sum, { from, to }) => sum + to - from, 0),
      JSON.stringify(spans),
    ).toBe(100);
    for (const [index, part] of timeline.entries())
      expect(part.from).toBe(index === 0 ? 0 : (timeline[index - 1]?.to ?? -1));
  }
});

test("an event that ended at once has no part but the attempt itself", () => {
  expect(timelineOf({ from: 5, to: 5 }, [span(0, 9, "backoff")], turn)).toEqual([]);
  expect(timelineOf({ from: 5, to: 5 }, [span(5, 5, "attempt")], turn)).toHaveLength(1);
});
