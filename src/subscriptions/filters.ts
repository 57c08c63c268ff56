/** Events of a type that a subscription asks for: in one channel, or in every channel if that is the empty string. */
export type Filter = { eventType: string; channelId: string };

/** Returns the filters for every type of event in each of the channels, or in all channels (null). */
export function filtersOf(eventTypes: readonly string[], channelIds: readonly string[] | null): Filter[] {
  return eventTypes.flatMap((eventType) =>
    (channelIds ?? [""]).map((channelId) => ({ eventType, channelId })),
  );
}
