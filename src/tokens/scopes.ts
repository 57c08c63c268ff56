/** The scopes that a token can have, in the order of specification part 5. */
export const scopes = [
  "channels:read",
  "channels:write",
  "messages:read",
  "messages:write",
  "reactions:write",
  "members:read",
  "members:write",
  "webhooks:read",
  "webhooks:write",
] as const;

export type Scope = (typeof scopes)[number];

/** Whether the text names a scope. */
export function isScope(text: string): text is Scope {
  return (scopes as readonly string[]).includes(text);
}
