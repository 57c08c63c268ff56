/** The event types that a subscription can receive (specification part 2, WebhookEvent). */
export const webhookEvents = [
  "message.created",
  "message.updated",
  "message.deleted",
  "reaction.added",
  "channel.member_added",
] as const;

export type WebhookEvent = (typeof webhookEvents)[number];
