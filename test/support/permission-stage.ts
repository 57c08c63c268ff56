import { expect } from "bun:test";
import type { Scope } from "../../src/tokens/scopes.ts";
import type { UserRow } from "../../src/users/store.ts";
import type { ApiClient } from "./client.ts";
import { readData } from "./data.ts";
import { type Stage, startStage } from "./stage.ts";

/** Every kind of subject that a token acts as, all of one team; the owner and the admin are in the least channels. */
export const subjects = ["owner", "admin", "member", "bot", "idleBot"] as const;
export type SubjectName = (typeof subjects)[number];

/** What the addresses and bodies of the routes name, by their parameters; `name` is for a channel to be made. */
export type Place = Record<"channel" | "message" | "user" | "subscription" | "emoji" | "name", string>;

/** Places in which no subject of the team sees anything, however they are asked for. */
const unseen = ["direct messages of others", "a channel of another team", "no channel at all"] as const;

export type PermissionStage = Stage & {
  /** A client of the subject, whose token has these scopes, or every scope; one token for each. */
  client(subject: SubjectName, ...scopes: Scope[]): Promise<ApiClient>;
  /**
   * A private channel that the user made, alone in it but for `user`, whom a route with DELETE can take out, or whom
   * one with POST can add; a message of the user in it; a subscription of the team.
   */
  ownPlace(creator: UserRow, method: string): Promise<Place>;
  /** A private channel of the team in which there is none of the subjects: only admins may manage it. */
  readonly closed: Place;
  readonly unseen: ReadonlyMap<(typeof unseen)[number], Place>;
  /** Runs what must be refused, and expects that the data is as it was before. */
  changingNothing(refused: () => Promise<void>): Promise<void>;
};

/** A server with the cast and with places that are hidden from it. Nothing is delivered: no event finds a receiver. */
export async function startPermissionStage(
  environment: Record<string, string> = {},
): Promise<PermissionStage> {
  const stage = await startStage({ WEBHOOKS_BLOCK_PRIVATE_URLS: "false", ...environment });
  const { workspace, cast } = stage;
  const clients = new Map<string, Promise<ApiClient>>();

  const client = (subject: SubjectName, ...scopes: Scope[]) => {
    const key = [subject, ...scopes].join(" ");
    const known = clients.get(key) ?? stage.as(cast[subject], ...scopes);
    clients.set(key, known);
    return known;
  };

  async function subscription(user: UserRow): Promise<string> {
    // Of a channel in which nothing happens.
    const { id } = await workspace.channel(user, `quiet ${Bun.randomUUIDv7()}`, "private");
    const body = {
      name: "receiver",
      url: "http://127.0.0.1:9/",
      events: ["message.deleted"],
      channel_ids: [id],
    };
    const { json } = await (await stage.as(user)).post<{ data: { id: string } }>("/webhooks", body);
    return json.data.id;
  }

  async function ownPlace(creator: UserRow, method: string): Promise<Place> {
    const channel = await workspace.channel(creator, `of ${Bun.randomUUIDv7()}`, "private");
    const { id: message } = await workspace.message(channel, creator);
    const user = await workspace.person(creator.teamId, "Nora Newcomer");
    if (method === "DELETE") await workspace.join(channel, user);
    return {
      channel: channel.id,
      message,
      user: user.id,
      subscription: await subscription(creator),
      emoji: "👍",
      name: `new ${Bun.randomUUIDv7()}`,
    };
  }

  const confidant = await workspace.person(cast.teamId, "Connie Confidant");
  const direct = await workspace.direct(cast.stranger, confidant);
  const own = await ownPlace(cast.stranger, "DELETE");
  const nowhere = Bun.randomUUIDv7();

  return {
    ...stage,
    client,
    ownPlace,
    closed: own,
    unseen: new Map([
      [
        "direct messages of others",
        {
          ...own,
          channel: direct.id,
          message: (await workspace.message(direct, confidant)).id,
          user: confidant.id,
          subscription: nowhere,
        },
      ],
      ["a channel of another team", await ownPlace(cast.outsider, "DELETE")],
      [
        "no channel at all",
        { ...own, channel: nowhere, message: nowhere, user: nowhere, subscription: nowhere },
      ],
    ]),
    changingNothing: async (refused) => {
      const before = await readData(stage.server.dataDir);
      await refused();
      expect(await readData(stage.server.dataDir)).toEqual(before);
    },
    [Symbol.asyncDispose]: () => stage[Symbol.asyncDispose](),
  };
}
