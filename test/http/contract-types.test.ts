import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { treaty } from "@elysiajs/eden";
import type { Static, TObject } from "@sinclair/typebox";
import { expectTypeOf } from "expect-type";
import { Channel, ChannelInput } from "../../src/channels/schemas.ts";
import type { ApiRoutes } from "../../src/api/api.ts";
import { MemberInput } from "../../src/members/schemas.ts";
import {
  Message,
  MessageEdit,
  MessagePage,
  MessageInput,
  ReactionSummary,
} from "../../src/messages/schemas.ts";
import { SubscriptionInput, WebhookDelivery, WebhookSubscription } from "../../src/subscriptions/schemas.ts";
import { User } from "../../src/users/schemas.ts";
import type * as specified from "../support/specified-resources.ts";
import { type Stage, startStage } from "../support/stage.ts";

let stage: Stage;
let api: Client;
let stranger: Client;

type Client = ReturnType<typeof clientOf>;

function clientOf(token: string) {
  // Left to itself the client would make dates of times, against the types.
  const options = { headers: { authorization: `Bearer ${token}` }, parseDate: false };
  return treaty<ApiRoutes>(stage.server.url, options).api.v1;
}

beforeAll(async () => {
  stage = await startStage({ WEBHOOKS_BLOCK_PRIVATE_URLS: "false" });
  api = clientOf((await stage.workspace.token(stage.cast.member)).token);
  stranger = clientOf("ply_pat_nobody");
});

afterAll(() => stage[Symbol.asyncDispose]());

/** The fields that the schema has, each of which is always there. */
function fieldsOf(schema: TObject): string {
  expect(schema.required).toEqual(Object.keys(schema.properties));
  return Object.keys(schema.properties).join(" ");
}

describe("the types of the resources are those of the specification, and so are their fields", () => {
  test("channels and their input", () => {
    expectTypeOf<Static<typeof Channel>>().toEqualTypeOf<specified.Channel>();
    expectTypeOf<Static<typeof ChannelInput>>().toEqualTypeOf<{
      name: string;
      visibility: "public" | "private";
      topic?: string | null;
    }>();
    expect(fieldsOf(Channel)).toBe(
      "id name slug visibility topic is_general is_archived is_direct created_at",
    );
    expect(ChannelInput.required).toEqual(["name", "visibility"]);
  });

  test("users and the input that adds a member", () => {
    expectTypeOf<Static<typeof User>>().toEqualTypeOf<specified.User>();
    expectTypeOf<Static<typeof MemberInput>>().toEqualTypeOf<{ user_id: string }>();
    expect(fieldsOf(User)).toBe("id name type");
    expect(fieldsOf(MemberInput)).toBe("user_id");
  });

  test("messages with their reactions, pages and input", () => {
    expectTypeOf<Static<typeof Message>>().toEqualTypeOf<specified.Message>();
    expectTypeOf<Static<typeof ReactionSummary>>().toEqualTypeOf<specified.ReactionSummary>();
    expectTypeOf<Static<typeof MessagePage>>().toEqualTypeOf<specified.Page>();
    expectTypeOf<Static<typeof MessageEdit>>().toEqualTypeOf<{ body: string }>();
    expectTypeOf<Static<typeof MessageInput>>().toEqualTypeOf<{
      body: string;
      client_uuid?: string | null;
      reply_to_id?: string | null;
      thread_root_id?: string | null;
      sent_to_channel?: boolean;
    }>();
    expect(fieldsOf(Message)).toBe(
      "id channel_id body type author reply_to_id thread_root_id reactions created_at edited_at username icon_url sent_to_channel",
    );
    expect(fieldsOf(ReactionSummary)).toBe("emoji count");
    expect(fieldsOf(MessagePage)).toBe("data links meta");
    expect(MessageInput.required).toEqual(["body"]);
  });

  test("subscriptions with their deliveries and input", () => {
    expectTypeOf<Static<typeof WebhookSubscription>>().toEqualTypeOf<specified.Subscription>();
    expectTypeOf<Static<typeof WebhookDelivery>>().toEqualTypeOf<specified.Delivery>();
    expectTypeOf<Static<typeof SubscriptionInput>>().toEqualTypeOf<{
      name: string;
      url: string | null;
      pull?: boolean;
      events: specified.Event[];
      channel_ids?: string[] | null;
      headers?: Record<string, string> | null;
    }>();
    expect(fieldsOf(WebhookSubscription)).toBe(
      "id name url events channel_ids header_names status consecutive_failures last_success_at disabled_at created_at",
    );
    expect(fieldsOf(WebhookDelivery)).toBe(
      "id event_type event_id succeeded response_status error created_at",
    );
    expect<unknown>(SubscriptionInput.required).toEqual(["name", "url", "events"]);
  });
});

describe("a typed client knows the body for each status of", () => {
  test("the channel routes", async () => {
    const listed = await api.channels.get();
    expectTypeOf(listed.data).toEqualTypeOf<{ data: specified.Channel[] } | null>();
    expectTypeOf(listed.error).toEqualTypeOf<specified.Refused<specified.Always> | null>();
    expect(listed.data?.data.map(({ slug }) => slug)).toContain("open");

    const created = await api.channels.post({ name: "Typed", visibility: "public", topic: null });
    expectTypeOf(created.data).toEqualTypeOf<{ data: specified.Channel } | null>();
    expectTypeOf(created.error).toEqualTypeOf<specified.Refused<specified.WithBody> | null>();
    const channel = created.data?.data.id ?? "";
    expect(created.data?.data.slug).toBe("typed");

    const shown = await api.channels({ channel }).get();
    expectTypeOf(shown.data).toEqualTypeOf<{ data: specified.Channel } | null>();
    expectTypeOf(shown.error).toEqualTypeOf<specified.Refused<specified.Always> | null>();
    expect(shown.data).toEqual(created.data);

    const archived = await api.channels({ channel }).archive.post();
    expectTypeOf(archived.data).toEqualTypeOf<{ data: specified.Channel } | null>();
    expectTypeOf(archived.error).toEqualTypeOf<specified.Refused<specified.Always> | null>();
    expect(archived.data?.data.is_archived).toBe(true);
  });

  test("the message and reaction routes", async () => {
    const { messages } = api.channels({ channel: stage.cast.open.id });
    const posted = await messages.post({ body: "hello" });
    expectTypeOf(posted.data).toEqualTypeOf<{ data: specified.Message } | null>();
    expectTypeOf(posted.error).toEqualTypeOf<specified.Refused<specified.WithBody> | null>();
    const message = messages({ message: posted.data?.data.id ?? "" });
    expect(posted.data?.data.body).toBe("hello");

    const listed = await messages.get({ query: { page: "1" } });
    expectTypeOf(listed.data).toEqualTypeOf<specified.Page | null>();
    expectTypeOf(listed.error).toEqualTypeOf<specified.Refused<specified.WithParameter> | null>();
    expect(listed.data?.data[0]).toEqual(posted.data?.data as specified.Message);

    const added = await message.reactions({ emoji: "👍" }).put();
    expectTypeOf(added.data).toEqualTypeOf<undefined | null>();
    expectTypeOf(added.error).toEqualTypeOf<specified.Refused<specified.WithParameter> | null>();
    expect(added.status).toBe(204);

    const shown = await message.get();
    expectTypeOf(shown.data).toEqualTypeOf<{ data: specified.Message } | null>();
    expectTypeOf(shown.error).toEqualTypeOf<specified.Refused<specified.Always> | null>();
    expect(shown.data?.data.reactions).toEqual([{ emoji: "👍", count: 1 }]);

    const removed = await message.reactions({ emoji: "👍" }).delete();
    expectTypeOf(removed.data).toEqualTypeOf<undefined | null>();
    expectTypeOf(removed.error).toEqualTypeOf<specified.Refused<specified.Always> | null>();
    expect(removed.status).toBe(204);

    const edited = await message.patch({ body: "goodbye" });
    expectTypeOf(edited.data).toEqualTypeOf<{ data: specified.Message } | null>();
    expectTypeOf(edited.error).toEqualTypeOf<specified.Refused<specified.WithBody> | null>();
    expect(edited.data?.data.body).toBe("goodbye");

    const deleted = await message.delete();
    expectTypeOf(deleted.data).toEqualTypeOf<undefined | null>();
    expectTypeOf(deleted.error).toEqualTypeOf<specified.Refused<specified.Always> | null>();
    expect(deleted.status).toBe(204);
  });

  test("the member routes", async () => {
    const { members } = api.channels({ channel: stage.cast.secret.id });
    const added = await members.post({ user_id: stage.cast.stranger.id });
    expectTypeOf(added.data).toEqualTypeOf<{ data: specified.User } | null>();
    expectTypeOf(added.error).toEqualTypeOf<specified.Refused<specified.WithBody> | null>();
    expect(added.data?.data.id).toBe(stage.cast.stranger.id);

    const listed = await members.get();
    expectTypeOf(listed.data).toEqualTypeOf<{ data: specified.User[] } | null>();
    expectTypeOf(listed.error).toEqualTypeOf<specified.Refused<specified.Always> | null>();
    expect(listed.data?.data).toContainEqual(added.data?.data as specified.User);

    const removed = await members({ user: stage.cast.stranger.id }).delete();
    expectTypeOf(removed.data).toEqualTypeOf<undefined | null>();
    expectTypeOf(removed.error).toEqualTypeOf<specified.Refused<specified.Always> | null>();
    expect(removed.status).toBe(204);
  });

  test("the subscription routes", async () => {
    const created = await api.webhooks.post({
      name: "Typed",
      url: "http://127.0.0.1:9/",
      events: ["message.created"],
    });
    expectTypeOf(created.data).toEqualTypeOf<{ data: specified.Subscription; secret: string } | null>();
    expectTypeOf(created.error).toEqualTypeOf<specified.Refused<specified.WithBody> | null>();
    expect(created.data?.secret).toStartWith("whsec_");
    const one = api.webhooks({ subscription: created.data?.data.id ?? "" });

    const listed = await api.webhooks.get();
    expectTypeOf(listed.data).toEqualTypeOf<{ data: specified.Subscription[] } | null>();
    expectTypeOf(listed.error).toEqualTypeOf<specified.Refused<specified.Always> | null>();
    expect(listed.data?.data).toEqual([created.data?.data as specified.Subscription]);

    const shown = await one.get();
    expectTypeOf(shown.data).toEqualTypeOf<{
      data: specified.SubscriptionWithDeliveries;
    } | null>();
    expectTypeOf(shown.error).toEqualTypeOf<specified.Refused<specified.Always> | null>();
    expect(shown.data?.data.deliveries).toEqual([]);

    const deleted = await one.delete();
    expectTypeOf(deleted.data).toEqualTypeOf<undefined | null>();
    expectTypeOf(deleted.error).toEqualTypeOf<specified.Refused<specified.Always> | null>();
    expect(deleted.status).toBe(204);
  });

  test("an error response, whose status selects the type of its body", async () => {
    const unknown = await stranger.channels.get();
    expect(unknown.error?.status).toBe(401);
    expect(unknown.error?.value).toEqual({ message: expect.any(String) });

    const { error } = await api.channels.post({ name: "", visibility: "public" });
    if (error?.status !== 422) throw new Error(`answered ${error?.status}`);
    expectTypeOf(error.value).toEqualTypeOf<specified.ValidationError>();
    expect(error.value.errors).toEqual({ name: [error.value.message] });
  });
});
