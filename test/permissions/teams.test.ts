import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Channel } from "../../src/channels/schemas.ts";
import type { ChannelRow } from "../../src/channels/store.ts";
import { createIncomingWebhook } from "../../src/incoming-webhooks/incoming-webhooks.ts";
import type { Message } from "../../src/messages/schemas.ts";
import { findKey } from "../../src/secrets/key-file.ts";
import { Vault } from "../../src/secrets/vault.ts";
import { apiClient } from "../support/client.ts";
import { restRoutes } from "../support/rest-routes.ts";
import { actor } from "../support/workspace.ts";
import {
  type PermissionStage,
  type Place,
  startPermissionStage,
  subjects,
} from "../support/permission-stage.ts";

/** Two teams in one workspace: what lists, unknown fields and the other doors could give away of one to the other. */
let stage: PermissionStage;
let foreign: Place;
/** Names of another team, its people, channels and messages, as a request could smuggle them in. */
let smuggled: Record<string, string>;

beforeAll(async () => {
  stage = await startPermissionStage();
  foreign = stage.unseen.get("a channel of another team") as Place;
  const { otherTeamId, outsider } = stage.cast;
  smuggled = {
    team: "umbrella",
    team_id: otherTeamId,
    teamId: otherTeamId,
    workspace_id: otherTeamId,
    channel: foreign.channel,
    channel_id: foreign.channel,
    author_id: outsider.id,
    created_by: outsider.id,
    creator_id: outsider.id,
    before: foreign.message,
    after: foreign.message,
    cursor: foreign.message,
  };
});
afterAll(() => stage[Symbol.asyncDispose]());

describe.each(restRoutes.filter(({ method }) => method === "GET"))("GET $path", ({ path }) => {
  test("ignores parameters and headers that name another team", async () => {
    for (const subject of subjects) {
      const client = await stage.client(subject);
      const place: Record<string, string> = await stage.ownPlace(stage.cast[subject], "GET");
      const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => place[name] ?? "");
      const plain = await client.get(address);
      const headers = { "x-team": "umbrella", "x-team-id": stage.cast.otherTeamId };
      // A parameter of their own, which names nothing but a place in what they read.
      const { after: _, ...others } = smuggled;
      const takesAfter = /\/(events|deliveries|messages)$/.test(path);
      const parameters = new URLSearchParams(takesAfter ? others : smuggled);
      const named = await client.get(`${address}?${parameters.toString()}`, headers);
      expect([plain.status, named.status]).toEqual([200, 200]);
      expect(named.text).toBe(plain.text);
      const { otherTeamId, outsider, outsiderBot, elsewhere } = stage.cast;
      for (const id of [...Object.values(foreign), otherTeamId, outsider.id, outsiderBot.id, elsewhere.id]) {
        if (id !== foreign.emoji) expect(plain.text, subject).not.toContain(id);
      }
    }
  });
});

describe("a body that names another team, channel or author in unknown fields", () => {
  test("creates a channel of the subject's own team, with the subject in it", async () => {
    const { cast } = stage;
    const member = await stage.client("member");
    const body = { ...smuggled, name: "smuggled", visibility: "public", members: [cast.outsider.id] };
    const { status, json } = await member.post<{ data: Channel }>("/channels", body);
    expect(status).toBe(201);
    expect((await (await stage.as(cast.outsider)).get(`/channels/${json.data.id}`)).status).toBe(404);
    const members = await member.get<{ data: Array<{ id: string }> }>(`/channels/${json.data.id}/members`);
    expect(members.json.data.map(({ id }) => id)).toEqual([cast.member.id]);
  });

  test("posts as the subject to the channel in the URL", async () => {
    const { cast } = stage;
    const bot = await stage.client("bot");
    const { json } = await bot.post<{ data: Message }>(`/channels/${cast.open.id}/messages`, {
      ...smuggled,
      body: "smuggled",
      author: { id: cast.outsider.id },
      username: "Umbrella owner",
    });
    expect(json.data).toMatchObject({
      channel_id: cast.open.id,
      author: { id: cast.bot.id },
      username: null,
    });
  });

  test("subscribes no team at all", async () => {
    const member = await stage.client("member");
    const { status, json } = await member.post("/webhooks", {
      ...smuggled,
      name: "smuggled",
      url: "http://127.0.0.1:9/",
      events: ["message.deleted"],
    });
    expect([status, Object.keys(json.errors ?? {}).sort()]).toEqual([
      422,
      Object.keys(smuggled)
        .filter((name) => name !== "channel_ids")
        .sort(),
    ]);
  });
});

describe("an incoming webhook", () => {
  async function addressIn(channel: ChannelRow, teamId: string): Promise<string> {
    const { workspace, server } = stage;
    const bot = await workspace.bot(teamId, "Hook Bot", [channel]);
    const vault = new Vault(findKey(server.dataDir, ""));
    const parts = { bot, channel };
    const { token } = await workspace.database.write((tx) =>
      createIncomingWebhook(tx, vault, parts, { name: "in", signed: false }, actor),
    );
    return token;
  }

  const post = (token: string, body: object) =>
    fetch(`${stage.server.url}/webhooks/incoming/${token}`, { method: "POST", body: JSON.stringify(body) });

  test("posts to its own channel only, whatever else its body names", async () => {
    const { cast } = stage;
    const token = await addressIn(cast.secret, cast.teamId);
    const body = {
      ...smuggled,
      text: "from outside",
      channel: `#${cast.elsewhere.name}`,
      reply_to_id: foreign.message,
      thread_root_id: foreign.message,
      client_uuid: foreign.message,
      user_id: cast.outsider.id,
    };
    expect((await post(token, body)).status).toBe(202);
    const member = await stage.client("member");
    const { json } = await member.get<{ data: Message[] }>(`/channels/${cast.secret.id}/messages`);
    expect(json.data[0]).toMatchObject({
      channel_id: cast.secret.id,
      body: "from outside",
      author: { name: "Hook Bot" },
      reply_to_id: null,
      thread_root_id: null,
    });
    for (const channel of [foreign.channel, cast.elsewhere.id]) {
      const outsider = await stage.as(cast.outsider);
      expect((await outsider.get(`/channels/${channel}/messages`)).text).not.toContain("from outside");
    }
  });

  test("has a URL token that is not an API token, and the reverse", async () => {
    const { cast, server, workspace } = stage;
    const token = await addressIn(cast.elsewhere, cast.otherTeamId);
    const bearer = (await workspace.token(cast.bot)).token;
    await stage.changingNothing(async () => {
      expect((await apiClient(server.url, token).get("/channels")).status).toBe(401);
      expect((await post(bearer, { text: "x" })).status).toBe(404);
      expect((await post(`${token}/${cast.open.id}`, { text: "x" })).status).toBe(404);
    });
  });
});
