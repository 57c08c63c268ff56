import { Database as SqliteFile } from "bun:sqlite";
import { expect } from "bun:test";
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { HeldEvent, HeldSubscription } from "../../src/deliveries/held.ts";
import type { Hold } from "../../src/deliveries/hold.ts";
import type { ChannelRow } from "../../src/channels/store.ts";
import type { WebhookSubscription } from "../../src/subscriptions/schemas.ts";
import type { UserRow } from "../../src/users/store.ts";
import { apiClient } from "./client.ts";
import { runJson } from "./cli.ts";
import { type Receiver, startReceiver } from "./receivers/receiver.ts";
import { startServer, type TestServer } from "./server.ts";
import { temporaryFolder, type TemporaryFolder } from "./temporary-folder.ts";
import { envelopeOf } from "./webhook-stage.ts";
import { openWorkspace } from "./workspace.ts";

export type Held = { hold: Hold | null; webhooks: HeldSubscription[] };

const settings = { WEBHOOKS_BLOCK_PRIVATE_URLS: "false" };

/**
 * A workspace that was copied while events waited, and that has delivered them since. Nothing serves it:
 * `await using stage = await startCopiedStage()`. Two receivers, Main and Witness, are subscribed to every message.
 */
export class CopiedStage implements AsyncDisposable {
  /** The folder that was served all the time. */
  readonly live: string;
  /** The copy of the folder. */
  readonly copy: string;
  readonly main: Receiver;
  readonly witness: Receiver;
  readonly #folder: TemporaryFolder;
  readonly #servers: TestServer[] = [];
  #token = "";
  #channel: ChannelRow | undefined;
  #owner: UserRow | undefined;
  /** What Main was sent since the copy was made, as ids of events. */
  sentSince: string[] = [];

  constructor() {
    this.#folder = temporaryFolder();
    this.live = this.path("live");
    this.copy = this.path("copy");
    this.main = startReceiver();
    this.witness = startReceiver();
  }

  /** The path of a file beside both folders. */
  readonly path = (name: string): string => join(this.#folder.path, name);

  /** Delivers two messages, lets three wait, copies the folder with `makeCopy`, and delivers the three. */
  async prepare(makeCopy: (stage: CopiedStage) => void): Promise<void> {
    mkdirSync(this.live);
    await this.#makeTeam();
    const server = await this.serve(this.live);
    await this.#subscribe(server, "Main", this.main);
    await this.#subscribe(server, "Witness", this.witness);
    for (const body of ["first", "second"]) await this.post(server, body);
    await this.received(this.main, 2);
    await this.received(this.witness, 2);
    await server.stop();
    await this.#let(["third", "fourth", "fifth"]);
    makeCopy(this);
    await server.start();
    await this.received(this.main, 5);
    await this.received(this.witness, 5);
    await server.stop();
    this.sentSince = this.ids(this.main).slice(2);
  }

  /** Serves the folder; the stage ends the server at the latest. */
  async serve(dataDir: string, environment: Record<string, string> = {}): Promise<TestServer> {
    const server = await startServer({ dataDir, environment: { ...settings, ...environment } });
    this.#servers.push(server);
    return server;
  }

  async post(server: TestServer, body: string): Promise<void> {
    const { status } = await apiClient(server.url, this.#token).post(
      `/channels/${this.#channel?.id}/messages`,
      { body },
    );
    expect(status).toBe(201);
  }

  /** Waits until this many requests have arrived. */
  async received(receiver: Receiver, count: number): Promise<void> {
    await receiver.received(count);
  }

  /** The ids of the events that the receiver was sent, in the order of arrival. */
  ids(receiver: Receiver): string[] {
    return receiver.requests.map((request) => envelopeOf(request).id);
  }

  /** The texts of the messages that the receiver was told of, in the order of arrival. */
  texts(receiver: Receiver): string[] {
    return receiver.requests.map((request) => String(envelopeOf(request).data.body));
  }

  async held(dataDir: string): Promise<Held> {
    return await runJson<Held>(dataDir, ["deliveries", "held"]);
  }

  async heldFor(dataDir: string, webhook: string): Promise<string[]> {
    const events = await runJson<HeldEvent[]>(dataDir, ["deliveries", "held", "--webhook", webhook]);
    return events.map(({ event_id }) => event_id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#servers) await server[Symbol.asyncDispose]();
    await this.main[Symbol.asyncDispose]();
    await this.witness[Symbol.asyncDispose]();
    this.#folder[Symbol.dispose]();
  }

  async #makeTeam(): Promise<void> {
    await using workspace = await openWorkspace(this.live);
    const team = await workspace.team("Acme");
    this.#owner = team.owner;
    this.#channel = team.general;
    this.#token = (await workspace.token(team.owner)).token;
  }

  async #subscribe(server: TestServer, name: string, { url }: Receiver): Promise<void> {
    const { status } = await apiClient(server.url, this.#token).post<{ data: WebhookSubscription }>(
      "/webhooks",
      { name, url, events: ["message.created"] },
    );
    expect(status).toBe(201);
  }

  /** Messages that another process writes while no server runs, so that they wait. */
  async #let(bodies: string[]): Promise<void> {
    if (!this.#channel || !this.#owner) throw new Error("there is no workspace yet");
    await using workspace = await openWorkspace(this.live);
    for (const body of bodies) await workspace.message(this.#channel, this.#owner, body);
    // As the end of a server or of a command does, but not the end of a connection.
    using file = new SqliteFile(join(this.live, "parley.db"));
    file.run("PRAGMA wal_checkpoint(TRUNCATE)");
  }
}

/** Prepares such a workspace. `makeCopy` copies the folder `live` to `copy` unless it is given. */
export async function startCopiedStage(
  makeCopy = ({ live, copy }: CopiedStage) => copyFolder(live, copy),
): Promise<CopiedStage> {
  const stage = new CopiedStage();
  try {
    await stage.prepare(makeCopy);
    return stage;
  } catch (error) {
    await stage[Symbol.asyncDispose]();
    throw error;
  }
}

/** Copies a folder as `cp -a` does, over what is there. */
export function copyFolder(from: string, to: string): void {
  cpSync(from, to, { recursive: true, preserveTimestamps: true });
}

/** Removes what belongs to the database that is replaced, as its refusal asks for. */
export function removeLog(dataDir: string): void {
  for (const ending of ["-wal", "-shm"]) rmSync(join(dataDir, `parley.db${ending}`), { force: true });
}

/** The path of the folder's marker. */
export function markerOf(dataDir: string): string {
  const names = existsSync(dataDir) ? readdirSync(dataDir).filter((name) => name.endsWith(".marker")) : [];
  expect(names).toHaveLength(1);
  return join(dataDir, names[0] ?? "");
}
