// The resources as part 2 of the specification writes them, by hand and with nothing derived, so that the types of the
// program can be held against them.

export type Channel = {
  id: string;
  name: string;
  slug: string;
  visibility: "public" | "private";
  topic: string | null;
  is_general: boolean;
  is_archived: boolean;
  is_direct: boolean;
  created_at: string | null;
};

export type User = { id: string; name: string; type: "human" | "bot" };

export type ReactionSummary = { emoji: string; count: number };

export type Message = {
  id: string;
  channel_id: string;
  body: string;
  type: "standard" | "member_joined" | "member_left" | "poll";
  author: User;
  reply_to_id: string | null;
  thread_root_id: string | null;
  reactions: ReactionSummary[];
  created_at: string | null;
  edited_at: string | null;
  username: string | null;
  icon_url: string | null;
  sent_to_channel: boolean;
};

export type Event =
  | "message.created"
  | "message.updated"
  | "message.deleted"
  | "reaction.added"
  | "channel.member_added";

export type Subscription = {
  id: string;
  name: string;
  /** Null where nothing is sent, which is beyond the specification. */
  url: string | null;
  events: Event[];
  channel_ids: string[] | null;
  /** Beyond the specification. */
  header_names: string[];
  status: "active" | "disabled";
  consecutive_failures: number;
  last_success_at: string | null;
  disabled_at: string | null;
  created_at: string | null;
};

export type Delivery = {
  id: string;
  event_type: Event;
  event_id: string;
  succeeded: boolean;
  response_status: number | null;
  error: string | null;
  created_at: string | null;
};

export type SubscriptionWithDeliveries = {
  id: string;
  name: string;
  url: string | null;
  events: Event[];
  channel_ids: string[] | null;
  header_names: string[];
  status: "active" | "disabled";
  consecutive_failures: number;
  last_success_at: string | null;
  disabled_at: string | null;
  created_at: string | null;
  deliveries: Delivery[];
};

export type Page = {
  data: Message[];
  links: { first: string | null; last: string | null; prev: string | null; next: string | null };
  meta: {
    current_page: number;
    from: number | null;
    last_page: number;
    path: string;
    per_page: number;
    to: number | null;
    total: number;
  };
};

/** The statuses that every route may refuse with; a parameter that can be wrong adds 422, a body 413 and 415 too. */
export type Always = 401 | 403 | 404 | 429 | 500 | 503;
export type WithParameter = Always | 422;
export type WithBody = WithParameter | 413 | 415;

export type Error = { message: string };
export type ValidationError = { message: string; errors: Record<string, string[]> };

/** What a typed client has as `error`, one of the statuses with its body. */
export type Refused<Status extends number> = Status extends 422
  ? { status: 422; value: ValidationError }
  : { status: Status; value: Error };
