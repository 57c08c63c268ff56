import { expect } from "bun:test";
import type { ChannelRow } from "../../src/channels/store.ts";
import type { WebhookSubscription } from "../../src/subscriptions/schemas.ts";
import type { UserRow } from "../../src/users/store.ts";
import { type ApiClient, apiClient } from "./client.ts";
import type { Receiver } from "./receivers/receiver.ts";
import { envelopeOf, startWebhookStage, type WebhookStage } from "./webhook-stage.ts";

/** What commands beside a server that goes by creators are told. */
export const byCreators = { WEBHOOKS_VISIBILITY: "creator", WEBHOOKS_BLOCK_PRIVATE_URLS: "false" };

export type CreatorKind = "member" | "admin" | "owner" | "bot";

/** A server with a team whose users subscribe for themselves: `await using stage = await startCreatorStage()`. */
export class CreatorStage implements AsyncDisposable {
  readonly webhooks: WebhookStage;
  #names = 0;

  constructor(webhooks: WebhookStage) {
    this.webhooks = webhooks;
  }

  /** One more person, or a bot, that is in no channel. */
  async creator(kind: CreatorKind): Promise<UserRow> {
    const { workspace, team } = this.webhooks;
    const name = `${kind} ${++this.#names}`;
    return kind === "bot" ? await workspace.bot(team.id, name) : await workspace.person(team.id, name, kind);
  }

  async as(user: UserRow): Promise<ApiClient> {
    return apiClient(this.webhooks.server.url, (await this.webhooks.workspace.token(user)).token);
  }

  /** Asks for a subscription to messages with a token of the user's, of the whole workspace unless `input` says otherwise. */
  async request(user: UserRow, receiver: Pick<Receiver, "url">, input: object = {}) {
    const body = { name: "own", url: receiver.url, events: ["message.created"], ...input };
    return await (await this.as(user)).post<{ data: WebhookSubscription }>("/webhooks", body);
  }

  /** The same, and it is made. */
  async subscribe(
    user: UserRow,
    receiver: Pick<Receiver, "url">,
    input: object = {},
  ): Promise<WebhookSubscription> {
    const answer = await this.request(user, receiver, input);
    expect(answer.status, answer.text).toBe(201);
    return answer.json.data;
  }

  /** A channel of each kind that the team's owner may post in, with the user in it or not. */
  async channels(user: UserRow): Promise<Record<string, ChannelRow>> {
    const { workspace, team } = this.webhooks;
    const made: Record<string, ChannelRow> = {};
    for (const visibility of ["public", "private"] as const) {
      const joined = await this.webhooks.channel(visibility);
      await workspace.join(joined, user);
      made[`${visibility}, in it`] = joined;
      made[`${visibility}, not in it`] = await this.webhooks.channel(visibility);
    }
    made["direct, in it"] = await workspace.direct(team.owner, user);
    made["direct, not in it"] = await workspace.direct(team.owner, await this.creator("member"));
    return made;
  }

  /** The messages that came, in alphabetical order, once nothing waits any more; notices of who came and went left out. */
  async heard(receiver: Receiver, subscription: { id: string }): Promise<string[]> {
    await this.webhooks.drained(subscription);
    const bodies = receiver.requests.map((request) => String(envelopeOf(request).data.body));
    return bodies.filter((body) => body !== "").toSorted();
  }

  /** How many events the log says were not sent to the subscription because its creator may not see them. */
  withheld({ id }: { id: string }): number {
    return this.webhooks.server
      .logLines()
      .map((line) => JSON.parse(line) as { msg?: string; webhook?: string; events?: number })
      .filter(({ msg, webhook }) => msg === "delivery.withheld" && webhook === id)
      .reduce((sum, { events = 0 }) => sum + events, 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.webhooks[Symbol.asyncDispose]();
  }
}

/** Starts a server that goes by creators, unless `environment` says otherwise. A second attempt waits for ten minutes. */
export async function startCreatorStage(environment: Record<string, string> = {}): Promise<CreatorStage> {
  const settings = { WEBHOOKS_VISIBILITY: "creator", WEBHOOKS_BACKOFF_BASE: "600", ...environment };
  return new CreatorStage(await startWebhookStage(settings));
}
