import type { Message } from "../../src/messages/schemas.ts";
import type { User } from "../../src/users/schemas.ts";
import type { ApiClient } from "../support/client.ts";
import type { Playground } from "./playground.ts";
import type { Random } from "./random.ts";

/** A change that the server has acknowledged with 2xx, as the event that receivers must get. */
export type Change = { type: string; channelId: string; key: string };

/** The emoji that a sender uses, each once per message. */
const emoji = ["👍", "🎉", "🚀", "👀", "💚", "😀", "🔥", "🙏"];

type OwnMessage = { id: string; channelId: string; emoji: string[] };

/** What the server has no answer for now: what was asked may have happened or not. */
class Unavailable extends Error {}

/** The wait of a client whose request was refused with 503 or broke off, in milliseconds. */
const pauseMs = 20;

/** A client that makes one change after another, and records what was acknowledged. */
export class Sender {
  static #made = 0;
  readonly acknowledged: Change[] = [];
  /** How many requests were refused with 503 or broke off. */
  interrupted = 0;
  /** Tells its messages from those of others. */
  readonly #name = ++Sender.#made;
  readonly #random: Random;
  readonly #playground: Playground;
  readonly #messages: OwnMessage[] = [];
  readonly #members: string[] = [];
  #count = 0;

  constructor(playground: Playground, random: Random) {
    this.#playground = playground;
    this.#random = random;
  }

  /** How many changes of all senders the server has acknowledged. */
  static total(senders: readonly Sender[]): number {
    return senders.reduce((sum, { acknowledged }) => sum + acknowledged.length, 0);
  }

  /** Resolves when the connection breaks. What was in flight then may have happened or not. */
  async sendUntilTheEnd(client: ApiClient): Promise<void> {
    while (true) {
      const change = this.#nextChange(client);
      try {
        this.acknowledged.push(...(await change));
      } catch (error) {
        if (isBrokenConnection(error)) return;
        throw error;
      }
    }
  }

  /** Goes on while `isWanted`, also when the connection breaks or the server is unavailable. */
  async sendWhile(isWanted: () => boolean, client: ApiClient): Promise<void> {
    while (isWanted()) {
      const changes = await unlessInterrupted(this.#nextChange(client));
      if (changes) this.acknowledged.push(...changes);
      else this.interrupted++;
    }
  }

  async #nextChange(client: ApiClient): Promise<Change[]> {
    const dice = this.#random.fraction();
    if (dice < 0.25 && this.#messages.length > 0) return await this.#react(client);
    if (dice < 0.35 && this.#messages.length > 3) return await this.#edit(client);
    if (dice < 0.45 && this.#messages.length > 3) return await this.#delete(client);
    if (dice < 0.55 && this.#playground.userIds.length > 0) return await this.#addMember(client);
    if (dice < 0.6 && this.#members.length > 0) return await this.#removeMember(client);
    return await this.#post(client);
  }

  async #post(client: ApiClient): Promise<Change[]> {
    const channelId = this.#random.pick(this.#playground.channelIds);
    const body = `message ${this.#name}.${++this.#count} ${"x".repeat(this.#random.between(0, 2_000))}`;
    const { status, json } = await client.post<{ data: Message }>(`/channels/${channelId}/messages`, {
      body,
    });
    requireStatus(status, 201);
    this.#messages.push({ id: json.data.id, channelId, emoji: [...emoji] });
    return [{ type: "message.created", channelId, key: `message.created ${json.data.id}` }];
  }

  async #react(client: ApiClient): Promise<Change[]> {
    const message = this.#random.pick(this.#messages);
    const reaction = message.emoji.pop();
    if (reaction === undefined) return [];
    const { id, channelId } = message;
    const path = `/channels/${channelId}/messages/${id}/reactions/${encodeURIComponent(reaction)}`;
    requireStatus((await client.put(path)).status, 204);
    return [{ type: "reaction.added", channelId, key: `reaction.added ${id} ${reaction}` }];
  }

  async #edit(client: ApiClient): Promise<Change[]> {
    const { id, channelId } = this.#random.pick(this.#messages);
    const body = `edited ${++this.#count}`;
    const { status } = await client.patch(`/channels/${channelId}/messages/${id}`, { body });
    requireStatus(status, 200);
    return [{ type: "message.updated", channelId, key: `message.updated ${id} ${body}` }];
  }

  async #delete(client: ApiClient): Promise<Change[]> {
    // Removed from the list first: without a response it is not known whether it is gone.
    const [{ id, channelId }] = this.#messages.splice(
      this.#random.between(0, this.#messages.length - 1),
      1,
    ) as [OwnMessage];
    requireStatus((await client.del(`/channels/${channelId}/messages/${id}`)).status, 204);
    return [{ type: "message.deleted", channelId, key: `message.deleted ${id}` }];
  }

  async #addMember(client: ApiClient): Promise<Change[]> {
    const { privateId: channelId, userIds } = this.#playground;
    const userId = userIds.pop() as string;
    const { status } = await client.post(`/channels/${channelId}/members`, { user_id: userId });
    requireStatus(status, 201);
    this.#members.push(userId);
    return [
      { type: "channel.member_added", channelId, key: `channel.member_added ${userId}` },
      { type: "message.created", channelId, key: `member_joined ${userId}` },
    ];
  }

  async #removeMember(client: ApiClient): Promise<Change[]> {
    const { privateId: channelId } = this.#playground;
    const userId = this.#members.pop() as string;
    requireStatus((await client.del(`/channels/${channelId}/members/${userId}`)).status, 204);
    return [{ type: "message.created", channelId, key: `member_left ${userId}` }];
  }
}

type Envelope =
  | { type: "message.created" | "message.updated" | "message.deleted"; data: Message }
  | { type: "reaction.added"; data: { message_id: string; emoji: string } }
  | { type: "channel.member_added"; data: { user: User } };

/** The key under which a sender records the change that the envelope describes. */
export function keyOf(body: string): string {
  const { type, data } = JSON.parse(body) as Envelope;
  switch (type) {
    case "reaction.added":
      return `${type} ${data.message_id} ${data.emoji}`;
    case "channel.member_added":
      return `${type} ${data.user.id}`;
    case "message.updated":
      return `${type} ${data.id} ${data.body}`;
    case "message.deleted":
      return `${type} ${data.id}`;
    case "message.created":
      return data.type === "standard" ? `${type} ${data.id}` : `${data.type} ${data.author.id}`;
  }
}

function requireStatus(status: number, expected: number): void {
  if (status === 503) throw new Unavailable();
  if (status !== expected) throw new Error(`the server answered ${status} and not ${expected}`);
}

/** What was asked for; undefined, a moment later, when the connection broke or the server was unavailable. */
export async function unlessInterrupted<Value>(asked: Promise<Value>): Promise<Value | undefined> {
  try {
    const value = await asked;
    if ((value as { status?: number } | undefined)?.status !== 503) return value;
  } catch (error) {
    if (!isBrokenConnection(error) && !(error instanceof Unavailable)) throw error;
  }
  await Bun.sleep(pauseMs);
  return undefined;
}

function isBrokenConnection(error: unknown): boolean {
  return error instanceof Error && "code" in error;
}
