/** Returns the lines of a set-up that say why the sender's posts would be refused, if the webhook has a secret. */
export function cannotSign(secret: string | null): string[] {
  if (secret === null) return [];
  return [
    "",
    "It cannot sign with this webhook's secret, so all that it posts would be refused:",
    "create the webhook without --signed.",
  ];
}
