import { join } from "node:path";
import type { ChannelRow } from "../src/channels/store.ts";
import type { Database } from "../src/database/database.ts";
import { openPostgres } from "../src/database/postgres/open.ts";
import { createIncomingWebhook } from "../src/incoming-webhooks/incoming-webhooks.ts";
import { createLog } from "../src/log/log.ts";
import { createKeyFile, findKey } from "../src/secrets/key-file.ts";
import { Vault } from "../src/secrets/vault.ts";
import { createSubscription } from "../src/subscriptions/subscriptions.ts";
import type { UserRow } from "../src/users/store.ts";
import { actor, openWorkspace, Workspace } from "../test/support/workspace.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** A data folder with the rows that every load needs. */
export type Seeded = {
  dataDir: string;
  /** Its database file, on SQLite. */
  file: string;
  /** The address of its database, on PostgreSQL. */
  databaseUrl: string | undefined;
  teamId: string;
  channel: ChannelRow;
  /** A bot that is in the channel. */
  author: UserRow;
  /** The bot's token, with every scope. */
  token: string;
  /** The incoming webhook that posts as the bot into the channel, with its signing secret. */
  incoming: { token: string; secret: string };
};

/** Makes a workspace with one team in a new folder, or in the PostgreSQL database of the address. */
export async function seedWorkspace(databaseUrl?: string): Promise<Seeded> {
  return await seedTeam(temporaryFolder(), "Acme", databaseUrl);
}

/** Adds a team to the data of the folder, or to the database beside it. */
export async function seedTeam(dataDir: string, name: string, databaseUrl?: string): Promise<Seeded> {
  await using workspace = await openSeeded({ dataDir, databaseUrl });
  const { database } = workspace;
  const { id: teamId, owner } = await workspace.team(name);
  const channel = await workspace.channel(owner, "builds");
  const author = await workspace.bot(teamId, "Build Bot", [channel]);
  const { token } = await workspace.token(author);
  const vault = new Vault(findKey(dataDir, ""));
  const incoming = await database.write((tx) =>
    createIncomingWebhook(tx, vault, { bot: author, channel }, { name: "ci", signed: true }, actor),
  );
  return {
    dataDir,
    file: join(dataDir, "parley.db"),
    databaseUrl,
    teamId,
    channel,
    author,
    token,
    incoming: { token: incoming.token, secret: incoming.secret ?? "" },
  };
}

async function openSeeded({
  dataDir,
  databaseUrl,
}: Pick<Seeded, "dataDir" | "databaseUrl">): Promise<Workspace> {
  if (databaseUrl === undefined) return await openWorkspace(dataDir);
  createKeyFile(dataDir);
  return new Workspace(await openPostgres(databaseUrl));
}

/** Adds a channel that the seeded bot is in. */
export async function addChannel({ dataDir, author }: Seeded, name: string): Promise<ChannelRow> {
  await using workspace = await openWorkspace(dataDir);
  return await workspace.channel(author, name);
}

/** Subscribes each URL `count` times to new messages of the channels, or of all; returns the subscriptions' ids. */
export async function subscribe(
  { dataDir, databaseUrl, teamId }: Seeded,
  url: string | string[],
  { count = 1, channels }: { count?: number; channels?: ChannelRow[] } = {},
): Promise<string[]> {
  await using workspace = await openSeeded({ dataDir, databaseUrl });
  const parts = partsOf(dataDir, workspace.database);
  const input = {
    name: "receiver",
    events: ["message.created"],
    channel_ids: channels?.map(({ id }) => id) ?? null,
  };
  const urls = [url].flat().flatMap((each) => Array.from({ length: count }, () => each));
  const made = await Promise.all(
    urls.map((each) => createSubscription(parts, teamId, { ...input, url: each }, actor)),
  );
  return made.map(({ data }) => data.id);
}

function partsOf(dataDir: string, database: Database) {
  const vault = new Vault(findKey(dataDir, ""));
  // The benchmarks go beyond the default limit of a team.
  const maxSubscriptions = 1_000_000;
  return { database, vault, guard: { blockPrivate: false }, log: createLog("silent"), maxSubscriptions };
}
