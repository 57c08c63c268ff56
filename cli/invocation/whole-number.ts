import { InvalidArgumentError } from "commander";
import { parseWholeNumber } from "../../src/input/whole-number.ts";

/** Returns the parser of an option that takes an integer from `least` to `most`. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = parseWholeNumber(text, least, most);
    if (value !== undefined) return value;
    throw new InvalidArgumentError(`It takes a whole number from ${least} to ${most}.`);
  };
}
