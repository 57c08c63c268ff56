/** How often a condition is looked at. */
const pauseMs = 5;

/** Files that run side by side, in workers of `bun test --parallel`, have the processors in turn. */
const limitMs = process.env.BUN_TEST_WORKER_ID === undefined ? 15_000 : 45_000;

type Falsy = false | 0 | "" | null | undefined;

/**
 * Waits until `condition` returns something truthy, and returns that. A test waits on what it expects and never for a
 * span of time. The limit ends a test that waits for nothing; it is far above what a busy machine needs, so it judges no
 * speed.
 * @throws when it has not happened after `timeout_ms`, naming `what`.
 */
export async function until<Value>(
  what: string,
  condition: () => Value | Promise<Value>,
  { timeout_ms = limitMs }: { timeout_ms?: number } = {},
): Promise<Exclude<Value, Falsy>> {
  const deadline = performance.now() + timeout_ms;
  while (true) {
    const value = await condition();
    if (value) return value as Exclude<Value, Falsy>;
    if (performance.now() > deadline) throw new Error(`Not after ${timeout_ms} ms: ${what}.`);
    await Bun.sleep(pauseMs);
  }
}
