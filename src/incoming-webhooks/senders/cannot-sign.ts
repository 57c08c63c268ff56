/** Returns the lines of a set-up that say why the sender's posts would be refused, if the webhook has a secret. */
export function cannotSign(secret: string | null): string[] {
  if (secret === null) return [];
  return [
    "",
    "Such programs cannot sign what they post, so all of it would be refused: create it without --signed.",
  ];
}
