import { join } from "node:path";
import { createBot } from "../../src/accounts/bots.ts";
import { createChannel, setArchived } from "../../src/channels/channels.ts";
import { openDirect } from "../../src/channels/direct.ts";
import { type ChannelRow, selectChannel } from "../../src/channels/store.ts";
import type { Connection, Database } from "../../src/database/database.ts";
import { openDatabase } from "../../src/database/open.ts";
import { openPostgres } from "../../src/database/postgres/open.ts";
import { appendMessage } from "../../src/messages/append.ts";
import type { Message } from "../../src/messages/schemas.ts";
import { joinChannel, leaveChannel } from "../../src/members/members.ts";
import { createKeyFile } from "../../src/secrets/key-file.ts";
import { createTeam } from "../../src/teams/teams.ts";
import { type Scope, scopes } from "../../src/tokens/scopes.ts";
import { createToken } from "../../src/tokens/tokens.ts";
import type { UserRow } from "../../src/users/store.ts";
import { createPerson } from "../../src/accounts/people.ts";
import { subjectOf } from "../../src/users/users.ts";
import { databaseUrlOf } from "./engine.ts";

/** Who did it, in the audit log. */
export const actor = "cli:test";

/**
 * The data of a test server, opened by the test as the command line opens it: a second process on the same file. What
 * it makes is there for the server's next request. Each function is one call of the domain.
 */
export class Workspace implements AsyncDisposable {
  readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  /** A team with its owner and its `#general`. */
  async team(name: string): Promise<{ id: string; owner: UserRow; general: ChannelRow }> {
    const { team, owner, general } = await this.database.write((tx) =>
      createTeam(tx, { name, owner: `${name} owner` }, actor),
    );
    if (!owner) throw new Error("the team was made without its owner");
    return { id: team.id, owner, general };
  }

  async person(
    teamId: string,
    name: string,
    role: "owner" | "admin" | "member" = "member",
  ): Promise<UserRow> {
    return await this.database.write((tx) => createPerson(tx, teamId, { name, role }, actor));
  }

  /** A bot that is a member of the channels. */
  async bot(teamId: string, name: string, channels: readonly ChannelRow[] = []): Promise<UserRow> {
    return await this.database.write((tx) => createBot(tx, teamId, { name, channels }, actor));
  }

  /** A channel that the creator is the first member of. */
  async channel(
    creator: UserRow,
    name: string,
    visibility: "public" | "private" = "public",
  ): Promise<ChannelRow> {
    return await this.database.write(async (tx) => {
      const { id } = await createChannel(tx, subjectOf(creator), { name, visibility });
      return await channelRow(tx, creator.teamId, id);
    });
  }

  /** The direct messages of two users. */
  async direct(one: UserRow, other: UserRow): Promise<ChannelRow> {
    return await this.database.write(async (tx) => {
      const { id } = await openDirect(tx, one, other, actor);
      return await channelRow(tx, one.teamId, id);
    });
  }

  /** Adds the user to the channel, with the notice that this writes. */
  async join(channel: ChannelRow, user: UserRow): Promise<void> {
    await this.database.write((tx) => joinChannel(tx, channel, user, actor));
  }

  /** Takes the user out of the channel, with the notice that this writes. */
  async leave(channel: ChannelRow, user: UserRow): Promise<void> {
    await this.database.write((tx) => leaveChannel(tx, channel, user, actor));
  }

  async archive(channel: ChannelRow): Promise<void> {
    await this.database.write((tx) => setArchived(tx, channel, true, actor));
  }

  /** A message at the end of the channel, archived or not, as it would stand there if the author had posted it. */
  async message(channel: ChannelRow, author: UserRow, body = "hello"): Promise<Message> {
    return await this.database.write(async (tx) =>
      appendMessage(tx, channel, author, { type: "standard", body }),
    );
  }

  /** A token of the user, with every scope where none is named. */
  async token(user: UserRow, ...granted: Scope[]): Promise<{ id: string; token: string }> {
    const input = { name: "test", scopes: granted.length > 0 ? granted : scopes, expiresAt: null };
    return await this.database.write((tx) => createToken(tx, user, input, actor));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.database.close();
  }
}

/** Opens the data of the folder. The folder must be there; where it is empty, tables and key file are made. */
export async function openWorkspace(dataDir: string): Promise<Workspace> {
  createKeyFile(dataDir);
  const url = databaseUrlOf(dataDir, { isMigrated: true });
  return new Workspace(
    url === undefined ? openDatabase(join(dataDir, "parley.db")) : await openPostgres(url),
  );
}

async function channelRow(db: Connection, teamId: string, id: string): Promise<ChannelRow> {
  const row = selectChannel(db, teamId, id);
  if (!row) throw new Error(`there is no channel ${id}`);
  return row;
}
