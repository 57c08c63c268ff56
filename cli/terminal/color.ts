/** The colours that mark how something stands. */
export type Color = "green" | "yellow" | "red" | "dim";
