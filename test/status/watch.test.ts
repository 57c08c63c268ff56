import { afterAll, beforeAll, expect, test } from "bun:test";
import { sparkline } from "../../cli/terminal/sparkline.ts";
import { Rates, selectTotals } from "../../src/status/rates.ts";
import { keys, onTerminal, run } from "../support/cli.ts";
import { type TemporaryFolder, temporaryFolder } from "../support/temporary-folder.ts";
import { openWorkspace, type Workspace } from "../support/workspace.ts";

let folder: TemporaryFolder;
let workspace: Workspace;
let acme: Awaited<ReturnType<Workspace["team"]>>;

beforeAll(async () => {
  folder = temporaryFolder();
  workspace = await openWorkspace(folder.path);
  acme = await workspace.team("Acme");
});
afterAll(async () => {
  await workspace[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

/** Leaves the other screen and shows the cursor again. */
const restored = "\u001b[?25h\u001b[?1049l";

test.each([
  ["q", "q"],
  ["Ctrl-C", keys.interrupt],
])("status --watch draws again and again on a screen of its own, until %s", async (_, key) => {
  await using screen = onTerminal(folder.path, ["status", "--watch"]);
  await screen.shows("q or Ctrl-C leaves");
  expect(screen.raw).toContain("\u001b[?1049h");
  // The second drawing has a rate.
  await screen.shows("/s");
  await screen.shows("q or Ctrl-C leaves");
  expect(screen.raw).not.toContain(restored);
  screen.type(key);
  expect(await screen.ended()).toBe(0);
  expect(screen.raw).toEndWith(restored);
});

test("without a terminal, and for programs, --watch is refused and says what to do", async () => {
  const piped = await run(folder.path, ["status", "--watch"]);
  expect(piped).toMatchObject({ status: 2, stdout: "" });
  expect(piped.stderr).toContain("leave it out");
  await using screen = onTerminal(folder.path, ["status", "--watch", "--json"]);
  expect(await screen.ended()).toBe(2);
});

test("rates are those of the time between two samples, and never negative", async () => {
  const rates = new Rates();
  const sample = async (at: number) => rates.sample(await workspace.database.ask(selectTotals), at);
  await sample(0);
  expect(rates.posts).toEqual([]);
  for (let post = 0; post < 5; post++) await workspace.message(acme.general, acme.owner);
  await sample(500);
  await sample(1_500);
  expect(rates.posts).toEqual([10, 0]);
  expect(rates.attempts).toEqual([0, 0]);
});

test("a sparkline shows the largest value as the highest bar, and nothing for zero", () => {
  expect(sparkline([0, 1, 4, 8])).toBe(" ▁▄█");
  expect(sparkline([0, 0])).toBe("  ");
  expect(sparkline([0.2])).toBe("▂");
});
