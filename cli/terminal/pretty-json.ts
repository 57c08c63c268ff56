/** The lines of the JSON text, indented; the text itself if it is no JSON. */
export function prettyLines(text: string): string[] {
  try {
    return JSON.stringify(JSON.parse(text), null, 2).split("\n");
  } catch {
    return [text];
  }
}
