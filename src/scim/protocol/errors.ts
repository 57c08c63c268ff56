/** What a refusal is about, in the words of RFC 7644, table 9. */
export type ScimType =
  | "invalidFilter"
  | "tooMany"
  | "uniqueness"
  | "mutability"
  | "invalidSyntax"
  | "invalidPath"
  | "noTarget"
  | "invalidValue";

/** A refusal that a directory can understand and act on; `status` is the HTTP status. */
export class ScimError extends Error {
  override readonly name = "ScimError";
  readonly status: number;
  readonly scimType: ScimType | undefined;
  /** Extra response headers that belong to this refusal. */
  readonly headers: Record<string, string>;

  constructor(status: number, detail: string, scimType?: ScimType, headers: Record<string, string> = {}) {
    super(detail);
    this.status = status;
    this.scimType = scimType;
    this.headers = headers;
  }
}

/** The refusal of what a request says: 409 for a name that is taken, 400 for everything else. */
export function scimError(scimType: ScimType, detail: string): ScimError {
  return new ScimError(scimType === "uniqueness" ? 409 : 400, detail, scimType);
}

/** The refusal for a resource that is not there, is none of the directory's, or belongs to another team. */
export function noResource(kind: "User" | "Group", id: string): ScimError {
  return new ScimError(404, `There is no ${kind} ${JSON.stringify(id.slice(0, 100))}.`);
}
