import type { Config, Environment } from "../config.ts";

/** What one check found. `skipped` means that something else has to be mended first, or that there is nothing to check. */
export type Finding = {
  check: string;
  state: "ok" | "warning" | "failed" | "skipped";
  /** What was found, in a sentence or a few words. */
  found: string;
  /** What to do about it. */
  remedy?: string;
};

/** What the checks are about. */
export type Patient = {
  dataDir: string;
  environment: Environment;
  /** Undefined when a setting does not parse. */
  config: Config | undefined;
};

export function ok(check: string, found: string): Finding {
  return { check, state: "ok", found };
}

export function warning(check: string, found: string, remedy?: string): Finding {
  return { check, state: "warning", found, ...(remedy !== undefined && { remedy }) };
}

export function failed(check: string, found: string, remedy?: string): Finding {
  return { check, state: "failed", found, ...(remedy !== undefined && { remedy }) };
}

export function skipped(check: string, found: string): Finding {
  return { check, state: "skipped", found };
}

/** The text of an error for a finding. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
