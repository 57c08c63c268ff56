import type { ResourceType } from "./attributes.ts";

/** The error types of RFC 7644, table 9. */
export type ScimType =
  | "invalidFilter"
  | "tooMany"
  | "uniqueness"
  | "mutability"
  | "invalidSyntax"
  | "invalidPath"
  | "noTarget"
  | "invalidValue";

/** An error that a directory can act on; `status` is the HTTP status. */
export class ScimError extends Error {
  override readonly name = "ScimError";
  readonly status: number;
  readonly scimType: ScimType | undefined;
  /** Extra headers of the error response. */
  readonly headers: Record<string, string>;

  constructor(status: number, detail: string, scimType?: ScimType, headers: Record<string, string> = {}) {
    super(detail);
    this.status = status;
    this.scimType = scimType;
    this.headers = headers;
  }
}

/** Returns the error for a request with bad content: 409 for a name that is taken, 400 for everything else. */
export function scimError(scimType: ScimType, detail: string): ScimError {
  return new ScimError(scimType === "uniqueness" ? 409 : 400, detail, scimType);
}

/** Returns the 404 for a resource that does not exist, is not the directory's or belongs to another team. */
export function noResource(name: ResourceType["name"], id: string): ScimError {
  return new ScimError(404, `There is no ${name} ${JSON.stringify(id.slice(0, 100))}.`);
}
