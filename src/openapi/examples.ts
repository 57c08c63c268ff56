import type { Channel, ChannelInput } from "../channels/schemas.ts";
import type { WebhookEvent } from "../event-types.ts";
import type { DeliveryPage } from "../deliveries/attempt-pages.ts";
import type { EventPage } from "../feed/schemas.ts";
import type { MemberInput } from "../members/schemas.ts";
import type { Message, MessageEdit, MessagePage, MessageInput } from "../messages/schemas.ts";
import { cursorOf, markOf } from "../outbox/cursor.ts";
import type {
  SubscriptionEdit,
  SubscriptionInput,
  WebhookDelivery,
  WebhookSubscription,
} from "../subscriptions/schemas.ts";
import type { User } from "../users/schemas.ts";

/** The ids that the examples share, so that they fit together. */
export const exampleIds = {
  channel: "01a19b53-ea6b-73f3-bc6b-2b065d711a62",
  message: "01a1f9fc-8bfb-7fe8-9f66-786bf46fc011",
  bot: "01a19b52-916a-75ef-b09b-460ca8ea21be",
  user: "01a0f6b1-2680-78a5-a320-2d57ad7f5c24",
  subscription: "01a1f9f9-13be-7deb-8a37-b068c66ef662",
  event: "01a1f9fc-8bfd-7ade-93c6-509f31a7796a",
};

/** The cursor of that event. */
export const exampleCursor = cursorOf({ seq: 3_592, mark: markOf(exampleIds.event) });

/** A made-up signing secret of the real length. */
export const exampleSecret = `whsec_${"EXAMPLE1".repeat(6)}`;

const channel: Channel = {
  id: exampleIds.channel,
  name: "Releases",
  slug: "releases",
  visibility: "private",
  topic: "What goes live, and when",
  is_general: false,
  is_archived: false,
  is_direct: false,
  created_at: "2026-11-02T08:15:30.411+00:00",
};

const bot: User = { id: exampleIds.bot, name: "Release bot", type: "bot" };
const person: User = { id: exampleIds.user, name: "Release manager", type: "human" };

const message: Message = {
  id: exampleIds.message,
  channel_id: exampleIds.channel,
  body: "Version 4.2.0 is live.",
  type: "standard",
  author: bot,
  reply_to_id: null,
  thread_root_id: null,
  reactions: [{ emoji: "🎉", count: 3 }],
  created_at: "2026-11-20T17:24:00.123+00:00",
  edited_at: null,
  username: null,
  icon_url: null,
  sent_to_channel: false,
};

const page = `https://chat.example.com/api/v1/channels/${exampleIds.channel}/messages`;

const messagePage: MessagePage = {
  data: [message],
  links: { first: `${page}?page=1`, last: `${page}?page=1`, prev: null, next: null },
  meta: { current_page: 1, from: 1, last_page: 1, path: page, per_page: 50, to: 1, total: 1 },
};

const channelInput: ChannelInput = {
  name: "#Releases",
  visibility: "private",
  topic: "What goes live, and when",
};
// No client_uuid: a reader who sends the example again with another body would get the first message back.
const messageInput: MessageInput = { body: "Version 4.2.0 is live." };
const messageEdit: MessageEdit = { body: "Version 4.2.1 is live." };
const memberInput: MemberInput = { user_id: exampleIds.user };

const receiverUrl = "https://dashboard.example.com/parley";

const subscription: WebhookSubscription = {
  id: exampleIds.subscription,
  name: "Deploy dashboard",
  url: receiverUrl,
  events: ["message.created", "reaction.added"],
  channel_ids: null,
  header_names: ["authorization"],
  status: "active",
  consecutive_failures: 0,
  last_success_at: "2026-11-20T17:24:00.164+00:00",
  disabled_at: null,
  created_at: "2026-11-20T17:20:12.734+00:00",
};

const delivery: WebhookDelivery = {
  id: "01a1f9fc-8c24-761e-b494-f7f176887355",
  event_type: "message.created",
  event_id: exampleIds.event,
  succeeded: true,
  response_status: 204,
  error: null,
  created_at: "2026-11-20T17:24:00.164+00:00",
};

// No channel_ids: an example's exist in no workspace and would be refused.
const subscriptionInput: SubscriptionInput = {
  name: subscription.name,
  url: receiverUrl,
  events: subscription.events,
  headers: { authorization: "Bearer made-up-for-this-example" },
};

const incoming = {
  text: message.body,
  username: "Release bot",
  icon_url: "https://example.com/rocket.png",
};

const eventPage: EventPage = {
  data: [
    {
      cursor: exampleCursor,
      event: {
        id: exampleIds.event,
        type: "message.created",
        created_at: "2026-11-20T17:24:00.125+00:00",
        data: { ...message, reactions: [] },
      },
    },
  ],
  meta: { next: exampleCursor, caught_up: true },
};

/** The example of each body, by the name of its component. */
export const examples: Readonly<Record<string, unknown>> = {
  ChannelData: { data: channel },
  ChannelList: { data: [channel] },
  ChannelInput: channelInput,
  MessageData: { data: message },
  MessagePage: messagePage,
  MessageInput: messageInput,
  MessageEdit: messageEdit,
  UserData: { data: person },
  UserList: { data: [bot, person] },
  MemberInput: memberInput,
  WebhookSubscriptionList: { data: [subscription] },
  WebhookSubscriptionData: { data: subscription },
  WebhookSubscriptionShown: { data: { ...subscription, deliveries: [delivery] } },
  SubscriptionInput: subscriptionInput,
  SubscriptionEdit: {
    name: "Release log, all channels",
    channel_ids: null,
    headers: { authorization: "Bearer made-up-for-this-example" },
  } satisfies SubscriptionEdit,
  CreatedSubscription: { data: { ...subscription, last_success_at: null }, secret: exampleSecret },
  DeliveryPage: { data: [delivery], meta: { next: null } } satisfies DeliveryPage,
  EventPage: eventPage,
  IncomingPayload: incoming,
  IncomingForm: { payload: JSON.stringify(incoming) },
};

/** The `data` of each event's envelope. */
export const eventExamples: Readonly<Record<WebhookEvent, unknown>> = {
  "message.created": { ...message, reactions: [] },
  "message.updated": { ...message, body: messageEdit.body, edited_at: "2026-11-20T17:31:45.902+00:00" },
  "message.deleted": { ...message, body: "", reactions: [] },
  "reaction.added": {
    channel_id: exampleIds.channel,
    message_id: exampleIds.message,
    emoji: "🎉",
    user: person,
  },
  "channel.member_added": { channel_id: exampleIds.channel, user: person },
};

/**
 * The message in the example of a 422, by operation; the others say that the first field is required. Where sending an
 * example a second time is refused, this is the message.
 */
export const complaints: Readonly<Record<string, string>> = {
  createChannel: "There is a channel with the slug releases in this workspace already.",
  listDeliveries: "The after field must be the cursor of an earlier page.",
  listEvents: "The after field must be a cursor of an earlier page or delivery.",
  listMessages: "The page field must be a whole number from 1 to 999999999999999.",
  addReaction: "The emoji must be one emoji, or the :name: of an emoji of this workspace.",
  addMember: `${person.name} is a member of ${channel.name} already.`,
};
