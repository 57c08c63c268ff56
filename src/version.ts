import { version as number } from "../package.json" with { type: "json" };

/** Put in by `scripts/compile.ts`: the short commit, empty where the source is no clone. Absent without compiling. */
declare const PARLEY_COMMIT: string | undefined;

const commit = typeof PARLEY_COMMIT === "undefined" ? "" : PARLEY_COMMIT;

/** What people are shown and what a report of a fault should quote: `0.1.0 (abc1234)`, or `0.1.0` without a commit. */
export const version = commit === "" ? number : `${number} (${commit})`;
