/** One check. `off` is for what the settings switch off. The other fields are its figures. */
export type Check = {
  status: "ok" | "failing" | "off";
  /** What is wrong, as a sentence that names no path; only where it fails. */
  reason?: string;
  [figure: string]: string | number | undefined;
};
