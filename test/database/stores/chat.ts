import { eq } from "drizzle-orm";
import * as members from "../../../src/channels/member-store.ts";
import * as channels from "../../../src/channels/store.ts";
import type { Transaction } from "../../../src/database/database.ts";
import * as schema from "../../../src/database/schema.ts";
import * as emoji from "../../../src/emoji/store.ts";
import * as incoming from "../../../src/incoming-webhooks/store.ts";
import * as refused from "../../../src/incoming-webhooks/refused-store.ts";
import * as once from "../../../src/messages/once-store.ts";
import * as messages from "../../../src/messages/store.ts";
import * as reactions from "../../../src/reactions/store.ts";
import { at, channel, type StoreCalls, teamId } from "./rows.ts";

const webhook = {
  id: "w-1",
  teamId,
  botId: "u-Bot",
  channelId: "c-General",
  name: "Alerts",
  tokenHash: "hash-1",
  secret: null,
  revokedAt: null,
  createdAt: at,
  previousTokenHash: null,
  previousTokenUntil: null,
  previousSecret: null,
  previousSecretUntil: null,
};

const usedKey = { id: "key-1", post: "hello", channelId: "c-General", messageId: "m-1", createdAt: at };

const refusedPost = (id: string) => ({
  id,
  webhookId: "w-1",
  suffix: "slack",
  isProven: true,
  isSuperseded: false,
  code: "invalid" as const,
  at,
  post: Buffer.from([1]),
});

const message = {
  channelId: "c-General",
  authorId: "u-Ann",
  type: "standard" as const,
  username: null,
  iconUrl: null,
  incomingWebhookId: null,
  replyToId: null,
  threadRootId: null,
  reactions: "[]",
  createdAt: at,
  editedAt: null,
  deletedAt: null,
};

const reply = { sentToChannel: true, replyToId: "m-1", threadRootId: "m-1" };

const reaction = { messageId: "m-1", emoji: "👍", userId: "u-Ann" };

/** The stores of channels and of what is said in them. */
export const chatStores: Record<string, StoreCalls> = {
  "channels/store.ts": {
    module: channels,
    calls: {
      insertChannel: [
        channel("General", { isGeneral: true, topic: "all" }),
        channel("general", { id: "c-other" }),
        channel("Zoo", { visibility: "private", isManaged: true, externalId: "Z" }),
        channel("apes", { visibility: "private", isManaged: true, externalId: "z" }),
        channel("Öl", { visibility: "private", isManaged: true }),
      ].map((row) => (tx) => channels.insertChannel(tx, row)),
      selectChannel: [
        (tx) => channels.selectChannel(tx, teamId, "c-General"),
        (tx) => channels.selectChannel(tx, "team-2", "c-General"),
      ],
      selectChannelIds: [(tx) => channels.selectChannelIds(tx, teamId, ["c-General", "c-Zoo", "c-none"])],
      selectChannelsNamed: [
        (tx) => channels.selectChannelsNamed(tx, teamId, "general"),
        (tx) => channels.selectChannelsNamed(tx, teamId, "Zoo"),
      ],
      selectChannelBySlug: [(tx) => channels.selectChannelBySlug(tx, teamId, "öl")],
      selectChannels: [(tx) => channels.selectChannels(tx, teamId)],
      updateArchived: [
        (tx) => channels.updateArchived(tx, "c-apes", true),
        (tx) => channels.updateArchived(tx, "c-apes", false),
      ],
      updateChannelName: [(tx) => channels.updateChannelName(tx, "c-General", "Everybody", "everybody")],
      selectLastPosition: [
        (tx) => channels.selectLastPosition(tx, "c-General"),
        (tx) => channels.selectLastPosition(tx, "none"),
      ],
      selectJoinedChannels: [
        (tx) => members.insertMember(tx, "c-General", "u-Ann", at),
        (tx) => channels.selectJoinedChannels(tx, teamId, "u-Ann"),
      ],
    },
  },
  "channels/member-store.ts": {
    module: members,
    calls: {
      insertMember: [
        ...["u-Ann", "u-ben", "u-Bot", "u-Gone"].map(
          (id) => (tx: Transaction) => members.insertMember(tx, "c-Zoo", id, at),
        ),
        (tx) => members.insertMember(tx, "c-Zoo", "u-Ann", at),
      ],
      isMember: [
        (tx) => members.isMember(tx, "c-Zoo", "u-Ann"),
        (tx) => members.isMember(tx, "c-Zoo", "u-_cy"),
      ],
      selectJoinedAt: [(tx) => members.selectJoinedAt(tx, "c-Zoo", "u-Ann")],
      selectMembers: [(tx) => members.selectMembers(tx, "c-Zoo")],
      deleteMember: [(tx) => members.deleteMember(tx, "c-General", "u-Ann")],
    },
  },
  "messages/store.ts": {
    module: messages,
    calls: {
      selectMessage: [
        async (tx) => {
          await tx.insert(schema.messages).values([
            { ...message, id: "m-1", position: 1, body: "one", clientUuid: "x", sentToChannel: false },
            { ...message, ...reply, id: "m-2", position: 2, body: "two", clientUuid: null },
          ]);
          await tx
            .update(schema.channels)
            .set({ lastPosition: 2 })
            .where(eq(schema.channels.id, "c-General"));
        },
        (tx) => messages.selectMessage(tx, "c-General", "m-2"),
        (tx) => messages.selectMessage(tx, "c-Zoo", "m-2"),
      ],
      selectMessageByClientUuid: ["x", "y"].map(
        (uuid) => (tx) =>
          messages.selectMessageByClientUuid(
            tx,
            "c-General",
            { id: "u-Ann", name: "Ann", type: "human" },
            uuid,
          ),
      ),
      selectPosition: ["m-1", "m-9"].map((id) => (tx) => messages.selectPosition(tx, "c-General", id)),
      selectMessageRange: [
        (tx) => messages.selectMessageRange(tx, "c-General", 1, 2),
        (tx) => messages.selectMessageRange(tx, "c-General", 2, 9),
      ],
      updateBody: [(tx) => messages.updateBody(tx, "m-1", "changed", at)],
      updateReactions: [(tx) => messages.updateReactions(tx, "m-1", '[{"emoji":"👍"}]')],
      updateToTombstone: [(tx) => messages.updateToTombstone(tx, "m-2", at)],
      selectMessagesPosted: [(tx) => messages.selectMessagesPosted(tx)],
    },
  },
  "reactions/store.ts": {
    module: reactions,
    calls: {
      insertReaction: [
        (tx) => reactions.insertReaction(tx, reaction, at),
        (tx) => reactions.insertReaction(tx, reaction, at),
      ],
      deleteReaction: [
        (tx) => reactions.deleteReaction(tx, reaction),
        (tx) => reactions.deleteReaction(tx, reaction),
      ],
    },
  },
  "emoji/store.ts": {
    module: emoji,
    calls: {
      insertEmoji: [
        (tx) => emoji.insertEmoji(tx, { teamId, name: "party", image: Buffer.from([0, 255]), createdAt: at }),
        (tx) => emoji.insertEmoji(tx, { teamId, name: "party", image: null, createdAt: at }),
        (tx) => emoji.insertEmoji(tx, { teamId, name: "_a", image: null, createdAt: at }),
        (tx) => emoji.insertEmoji(tx, { teamId, name: "0", image: null, createdAt: at }),
      ],
      hasEmoji: [(tx) => emoji.hasEmoji(tx, teamId, "party"), (tx) => emoji.hasEmoji(tx, teamId, "PARTY")],
      selectEmoji: [(tx) => emoji.selectEmoji(tx, teamId)],
      deleteEmoji: [
        (tx) => emoji.deleteEmoji(tx, teamId, "party"),
        (tx) => emoji.deleteEmoji(tx, teamId, "party"),
      ],
    },
  },
  "messages/once-store.ts": {
    module: once,
    calls: {
      upsertIdempotencyKey: ["hello", "again"].map(
        (post) => (tx) => once.upsertIdempotencyKey(tx, { ...usedKey, post }),
      ),
      selectIdempotencyKey: [
        (tx) => once.selectIdempotencyKey(tx, usedKey.id),
        (tx) => once.selectIdempotencyKey(tx, "unknown"),
      ],
      deleteIdempotencyKeysBefore: [at, at + 1].map(
        (before) => (tx) => once.deleteIdempotencyKeysBefore(tx, before, 10),
      ),
    },
  },
  "incoming-webhooks/store.ts": {
    module: incoming,
    calls: {
      insertIncomingWebhook: [
        (tx) => incoming.insertIncomingWebhook(tx, { ...webhook, previousTokenHash: "hash-0" }),
        (tx) => incoming.insertIncomingWebhook(tx, { ...webhook, id: "w-2", tokenHash: "hash-2" }),
        (tx) =>
          incoming.insertIncomingWebhook(tx, {
            ...webhook,
            id: "w-2",
            tokenHash: "signed:2",
            channelId: "c-Zoo",
            secret: Buffer.from([7]),
          }),
      ],
      isSigned: [() => incoming.isSigned(webhook)],
      addressWorksUntil: ["hash-1", "hash-0"].map(
        (hash) => () => incoming.addressWorksUntil({ ...webhook, previousTokenUntil: at }, hash),
      ),
      selectLiveWebhook: [
        (tx) => incoming.selectLiveWebhook(tx, "hash-1"),
        (tx) => incoming.selectLiveWebhook(tx, "hash-9"),
        (tx) => incoming.selectLiveWebhook(tx, "hash-0"),
      ],
      selectWebhookByHash: [(tx) => incoming.selectWebhookByHash(tx, "hash-1")],
      selectIncomingWebhooks: [
        (tx) => incoming.selectIncomingWebhooks(tx, teamId),
        (tx) => incoming.selectIncomingWebhooks(tx, teamId, "w-2"),
      ],
      selectWebhookSecrets: [(tx) => incoming.selectWebhookSecrets(tx)],
      selectSealedWebhooks: [(tx) => incoming.selectSealedWebhooks(tx, "", 10)],
      updateIncomingWebhook: [
        (tx) => incoming.updateIncomingWebhook(tx, "w-2", { secret: Buffer.from([8]) }),
      ],
      forgetEndedSecrets: [(tx) => incoming.forgetEndedSecrets(tx, at)],
      revokeWebhookRowsOfBot: [(tx) => incoming.revokeWebhookRowsOfBot(tx, "u-Bot", at)],
    },
  },
  "incoming-webhooks/refused-store.ts": {
    module: refused,
    calls: {
      insertRefusedPost: ["r-1", "r-2", "r-3"].map(
        (id) => (tx) => refused.insertRefusedPost(tx, refusedPost(id)),
      ),
      selectRefusedPosts: [(tx) => refused.selectRefusedPosts(tx, "w-1")],
      selectSealedPosts: [(tx) => refused.selectSealedPosts(tx, "r-1", 10)],
      updateRefusedPost: [(tx) => refused.updateRefusedPost(tx, "r-3", Buffer.from([2]))],
      markRefusedPostsSuperseded: [(tx) => refused.markRefusedPostsSuperseded(tx, "w-9")],
      deleteRefusedPostsBeyond: [(tx) => refused.deleteRefusedPostsBeyond(tx, refusedPost("r-3"), 2)],
      deleteRefusedPost: [
        (tx) => refused.deleteRefusedPost(tx, "r-2"),
        (tx) => refused.deleteRefusedPost(tx, "r-2"),
      ],
      deleteRefusedPostsBefore: [(tx) => refused.deleteRefusedPostsBefore(tx, at, 10)],
      deleteRefusedPostsOf: [(tx) => refused.deleteRefusedPostsOf(tx, "w-1")],
    },
  },
};
