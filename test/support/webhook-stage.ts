import { expect } from "bun:test";
import { createHmac } from "node:crypto";
import { type AuditEntry, listAuditEntries } from "../../src/audit/audit.ts";
import type { ChannelRow } from "../../src/channels/store.ts";
import type { Database } from "../../src/database/database.ts";
import { webhookEvents } from "../../src/event-types.ts";
import {
  createIncomingWebhook,
  type IncomingWebhook,
} from "../../src/incoming-webhooks/incoming-webhooks.ts";
import { connectionsOf } from "../../src/database/postgres/open.ts";
import { sayNow } from "../../src/nodes/notices.ts";
import { signalWork } from "../../src/outbox/signal.ts";
import type { Message } from "../../src/messages/schemas.ts";
import { findKey } from "../../src/secrets/key-file.ts";
import { Vault } from "../../src/secrets/vault.ts";
import type { WebhookDelivery, WebhookSubscription } from "../../src/subscriptions/schemas.ts";
import { disableSubscription, enableSubscription } from "../../src/subscriptions/status.ts";
import type { UserRow } from "../../src/users/store.ts";
import { columnOf, countOf } from "./data.ts";
import { type Answer, type ApiClient, apiClient } from "./client.ts";
import { checkAgainstDocument } from "./openapi-check.ts";
import { type Answering, type Received, type Receiver, startReceiver } from "./receivers/receiver.ts";
import { until } from "./conditions.ts";
import { startServer, type TestServer } from "./server.ts";
import { temporaryFolder, type TemporaryFolder } from "./temporary-folder.ts";
import { actor, openWorkspace, type Workspace } from "./workspace.ts";

/** Settings that let receivers stand on this machine and failures follow each other quickly, before what a test adds. */
const defaultEnvironment = {
  INTEGRATIONS_INGEST_RATE_LIMIT: "1000000",
  WEBHOOKS_BLOCK_PRIVATE_URLS: "false",
  WEBHOOKS_BACKOFF_BASE: "0.01",
  WEBHOOKS_DISABLE_AFTER: "1000",
};

/** A subscription, and the secret that only its creation showed. */
export type Subscribed = WebhookSubscription & { secret: string };
export type Shown = WebhookSubscription & { deliveries: WebhookDelivery[] };

/** An incoming webhook, and the token and secret that only its creation showed. */
export type Incoming = IncomingWebhook & { token: string; secret: string | null };

/** A receiver and its subscription. */
export type Listener = AsyncDisposable & {
  readonly receiver: Receiver;
  readonly subscription: Subscribed;
  /** All that was delivered once nothing is queued any more, in the order of arrival. */
  delivered(): Promise<Envelope[]>;
};

export type Envelope = { id: string; type: string; created_at: string; data: Record<string, unknown> };

/** A server with one team, whose webhooks go to receivers of the test: `await using stage = await startWebhookStage()`. */
export class WebhookStage implements AsyncDisposable {
  readonly workspace: Workspace;
  readonly team: { id: string; owner: UserRow; general: ChannelRow };
  readonly #folder: TemporaryFolder;
  readonly #token: string;
  #server: TestServer;
  #isStopped = false;
  #names = 0;

  constructor(
    parts: Pick<WebhookStage, "workspace" | "team" | "server"> & { folder: TemporaryFolder; token: string },
  ) {
    this.workspace = parts.workspace;
    this.team = parts.team;
    this.#folder = parts.folder;
    this.#token = parts.token;
    this.#server = parts.server;
  }

  get server(): TestServer {
    return this.#server;
  }

  get dataDir(): string {
    return this.#folder.path;
  }

  get database(): Database {
    return this.workspace.database;
  }

  /** As the command line opens it beside the server. */
  get vault(): Vault {
    return new Vault(findKey(this.dataDir, ""));
  }

  /** Acts as the team's owner with every scope. */
  get api(): ApiClient {
    return apiClient(this.#server.url, this.#token);
  }

  /** Stops the server as an operator would. The data stays open to the test. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    expect(await this.#server.stop()).toBe(0);
  }

  /** Starts another server on the same folder with these settings, after stopping the one that runs. */
  async restart(environment: Record<string, string> = {}): Promise<void> {
    if (!this.#isStopped) await this.stop();
    this.#server = await startServer({
      dataDir: this.dataDir,
      environment: { ...defaultEnvironment, ...environment },
    });
    this.#isStopped = false;
  }

  /** A channel of the owner that no other test knows. */
  async channel(visibility: "public" | "private" = "public"): Promise<ChannelRow> {
    return await this.workspace.channel(this.team.owner, `channel ${++this.#names}`, visibility);
  }

  /** A bot in the channel. */
  async bot(...channels: ChannelRow[]): Promise<UserRow> {
    return await this.workspace.bot(this.team.id, `bot ${++this.#names}`, channels);
  }

  /** Posts into the channel as the owner, through the API. */
  async post(channel: ChannelRow, body = "hello"): Promise<Message> {
    const answer = await this.api.post<{ data: Message }>(`/channels/${channel.id}/messages`, { body });
    expect(answer.status).toBe(201);
    return answer.json.data;
  }

  /** Subscribes the receiver through the API, to every event unless `input` says otherwise. */
  async subscribe(receiver: Pick<Receiver, "url">, input: object = {}): Promise<Subscribed> {
    const body = { name: "test", url: receiver.url, events: webhookEvents, ...input };
    const answer = await this.api.post<{ data: WebhookSubscription; secret: string }>("/webhooks", body);
    expect(answer.status, answer.text).toBe(201);
    return { ...answer.json.data, secret: answer.json.secret };
  }

  /** A receiver of its own with a subscription to it, to every event unless `input` says otherwise. */
  async listen(input: object = {}, answer?: Answering): Promise<Listener> {
    const receiver = startReceiver(answer);
    const subscription = await this.subscribe(receiver, input);
    return {
      receiver,
      subscription,
      delivered: async () => {
        await this.drained(subscription);
        return receiver.requests.map(envelopeOf);
      },
      [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose](),
    };
  }

  /** How many events wait to go to the subscription, whatever its status. */
  async queued({ id }: { id: string }): Promise<number> {
    const [jobs = 0] = await columnOf<number>(
      this.dataDir,
      "SELECT count(*) FROM jobs WHERE subscription_id = ?",
      id,
    );
    return jobs;
  }

  /** Waits until nothing is or will be queued for it: a job leaves the queue with its last attempt's log entry. */
  async drained(subscription: { id: string }): Promise<void> {
    const isAllQueued = async () => (await countOf(this.dataDir, "fan_outs")) === 0;
    const isEmpty = async () => (await isAllQueued()) && (await this.queued(subscription)) === 0;
    await until("the queue of the subscription is empty", isEmpty);
  }

  /** Has the subscription's receiver answer until slow start is over, and 20 attempts may run at once. Takes five messages. */
  async prove(channel: ChannelRow, subscription: { id: string }): Promise<void> {
    for (let doublings = 0; doublings < 5; doublings++) {
      await this.post(channel, "prove");
      await this.drained(subscription);
    }
  }

  /** The subscription as the API shows it now. */
  async shown({ id }: { id: string }): Promise<Shown> {
    const { json } = await this.api.get<{ data: Shown }>(`/webhooks/${id}`);
    return json.data;
  }

  /** Disables the subscription as the command line does, beside the server. */
  async disable({ id }: { id: string }): Promise<void> {
    await this.database.write((tx) => disableSubscription(tx, this.team.id, id, actor));
  }

  /** Enables it as the command line does, beside the server. */
  async enable({ id }: { id: string }, discardPending = false): Promise<WebhookSubscription> {
    return await enableSubscription(this.database, this.team.id, id, { discardPending }, actor);
  }

  /** An incoming webhook that posts into the channel as a new bot. */
  async incoming(channel: ChannelRow, { signed = false } = {}): Promise<Incoming & { bot: UserRow }> {
    const bot = await this.bot(channel);
    const { vault } = this;
    const made = await this.database.write((tx) =>
      createIncomingWebhook(tx, vault, { bot, channel }, { name: "test", signed }, actor),
    );
    return { ...made, bot };
  }

  /** Posts to the ingest endpoint and reads the answer. */
  async send(
    token: string,
    body: string | Uint8Array<ArrayBuffer> | FormData | object,
    headers = {},
  ): Promise<Answer> {
    const isRaw = typeof body === "string" || body instanceof Uint8Array || body instanceof FormData;
    const path = `/webhooks/incoming/${token}`;
    const response = await fetch(this.#server.url + path, {
      method: "POST",
      headers: body instanceof FormData ? headers : { "content-type": "application/json", ...headers },
      body: isRaw ? body : JSON.stringify(body),
    });
    const { status, headers: answered } = response;
    const text = await response.text();
    const json: unknown = text === "" ? undefined : JSON.parse(text);
    checkAgainstDocument("POST", path, status, answered, json);
    return { status, headers: answered, text, json: json as Answer["json"] };
  }

  /** The channel's messages, newest first, as its page 1 has them; notices left out. */
  async messages(channel: ChannelRow): Promise<Message[]> {
    const { json } = await this.api.get<{ data: Message[] }>(`/channels/${channel.id}/messages`);
    return json.data.filter(({ type }) => type === "standard");
  }

  /** The team's audit entries of these actions, newest first. */
  async audit(action: string): Promise<AuditEntry[]> {
    return await this.database.ask((db) => listAuditEntries(db, this.team.id, { action, limit: 1000 }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
    await this.workspace[Symbol.asyncDispose]();
    this.#folder[Symbol.dispose]();
  }
}

/**
 * Starts a server of its own with a team. What the test changes beside it wakes the server as a command would. `within` is
 * what the server is started within.
 */
export async function startWebhookStage(
  environment: Record<string, string> = {},
  { within = [] }: { within?: readonly string[] } = {},
): Promise<WebhookStage> {
  const folder = temporaryFolder();
  const workspace = await openWorkspace(folder.path);
  const connections = connectionsOf(workspace.database);
  const tell = () =>
    connections ? void sayNow(connections, "work").catch(() => {}) : signalWork(folder.path);
  workspace.database.onWork(tell);
  const team = await workspace.team("Acme");
  const { token } = await workspace.token(team.owner);
  const server = await startServer({
    dataDir: folder.path,
    environment: { ...defaultEnvironment, ...environment },
    within,
  });
  return new WebhookStage({ workspace, team, server, folder, token });
}

/** The message that the promise is rejected with, empty when it is not. */
export async function refusalOf(promise: Promise<unknown>): Promise<string> {
  return await promise.then(
    () => "",
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
}

/** The delivery's body as the specification describes it. */
export function envelopeOf(received: Received): Envelope {
  return JSON.parse(received.text) as Envelope;
}

/** The fields of `X-Service-Signature`. */
export function signatureOf(received: Received): { time: number; digests: string[] } {
  const [time = "", ...digests] = (received.headers.get("x-service-signature") ?? "").split(",");
  const values = digests.map((field) => field.replace(/^v1=/, ""));
  return { time: Number(time.replace(/^t=/, "")), digests: values };
}

/** What a receiver computes for itself: HMAC-SHA256 over `<timestamp>.<raw body>` (specification part 6). */
export function digestOf(received: Received, secret: string): string {
  const hmac = createHmac("sha256", secret).update(`${signatureOf(received).time}.`);
  return hmac.update(received.body).digest("hex");
}

/** The value of `X-Signature-256` for a body that goes to an incoming webhook (specification part 5, rule 5). */
export function ingestDigest(body: string | Uint8Array, secret: string | null): string {
  return createHmac("sha256", secret ?? "")
    .update(body)
    .digest("hex");
}
