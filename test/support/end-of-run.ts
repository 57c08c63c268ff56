import { afterAll } from "bun:test";

const cleanUps = new Set<() => void>();

/**
 * Runs `cleanUp` when the test run ends, or the file where files run side by side, unless the function that it returns
 * is called before: for a test that is cut off by its time limit and so disposes of nothing. The last one registered runs
 * first.
 */
export function atEndOfRun(cleanUp: () => void): () => void {
  cleanUps.add(cleanUp);
  return () => void cleanUps.delete(cleanUp);
}

// Preloaded by bunfig.toml, this stands outside of every test file. `bun test` tells nobody of its exit.
afterAll(() => {
  for (const cleanUp of [...cleanUps].reverse()) cleanUp();
  cleanUps.clear();
});
