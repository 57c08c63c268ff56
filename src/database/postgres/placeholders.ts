/** A statement as PostgreSQL takes it: its parameters are `$1`, `$2` and so on. */
export type NumberedStatement = {
  text: string;
  /** The number of parameters. */
  count: number;
  /** Named parameters in the order of their numbers, without the `$`; empty where they have no names. */
  names: readonly string[];
};

/** What is not looked into (strings, quoted names, comments), and what is: `?`, `$name`, and `$1`, which is not ours. */
const token = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[^]*?\*\/|\?|\$\w+/g;

/**
 * Numbers the parameters of a statement that SQLite takes: each `?` gets the next number, each `$name` the one that the
 * name got where it came first.
 * @throws Error for a statement that mixes the two, or has numbered parameters.
 */
export function numbered(text: string): NumberedStatement {
  const names: string[] = [];
  let count = 0;
  const result = text.replace(token, (found) => {
    if (found === "?") return `$${++count}`;
    if (!found.startsWith("$")) return found;
    const name = found.slice(1);
    if (/^\d/.test(name)) throw new Error(`Only ? and $name are parameters, not ${found}: ${text}`);
    if (!names.includes(name)) names.push(name);
    return `$${names.indexOf(name) + 1}`;
  });
  if (count > 0 && names.length > 0) throw new Error(`Named and unnamed parameters are mixed: ${text}`);
  return { text: result, count: count + names.length, names };
}
