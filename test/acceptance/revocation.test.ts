import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { deleteBot } from "../../src/accounts/bots.ts";
import { scopes } from "../../src/tokens/scopes.ts";
import { createToken, listTokens, revokeToken } from "../../src/tokens/tokens.ts";
import type { UserRow } from "../../src/users/store.ts";
import { deactivate, reactivate, setRole } from "../../src/accounts/people.ts";
import { RawConnection } from "../hostile/raw-connection.ts";
import { apiClient } from "../support/client.ts";
import { until } from "../support/conditions.ts";
import { type Stage, startStage } from "../support/stage.ts";
import { actor } from "../support/workspace.ts";

/**
 * What another process changes, as the command line does, holds for the server's very next request. Each test makes
 * the server use the token first, so that whatever it may remember is there.
 */
let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage[Symbol.asyncDispose]());

/** A client of the user whose token the server has just used. */
async function clientInUse(user: UserRow) {
  const { id, token } = await stage.workspace.token(user);
  const client = apiClient(stage.server.url, token);
  for (let time = 0; time < 3; time++) expect((await client.get("/channels")).status).toBe(200);
  return { id, client };
}

describe("a token is refused with the very next request", () => {
  test("when it is revoked, and the user's other tokens are not", async () => {
    const { workspace, cast } = stage;
    const { id, client } = await clientInUse(cast.bot);
    const other = await clientInUse(cast.bot);
    await workspace.database.write((tx) => revokeToken(tx, cast.teamId, id, actor));
    expect((await client.get("/channels")).status).toBe(401);
    expect((await client.post(`/channels/${cast.open.id}/messages`, { body: "x" })).status).toBe(401);
    expect((await other.client.get("/channels")).status).toBe(200);
  });

  test("when it is revoked a hundred times over: not one request slips through", async () => {
    const { workspace, cast } = stage;
    for (let time = 0; time < 100; time++) {
      const { id, token } = await workspace.token(cast.bot);
      const client = apiClient(stage.server.url, token);
      expect((await client.get("/channels")).status).toBe(200);
      await workspace.database.write((tx) => revokeToken(tx, cast.teamId, id, actor));
      expect((await client.get("/channels")).status).toBe(401);
    }
  });

  test("when it is revoked while the body of a request is on its way", async () => {
    const { workspace, cast, server } = stage;
    const { id, token } = await workspace.token(cast.bot);
    const body = JSON.stringify({ body: "too late" });
    using connection = new RawConnection(server.url);
    connection.write(
      `POST /api/v1/channels/${cast.open.id}/messages HTTP/1.1\r\nHost: localhost\r\n` +
        `Authorization: Bearer ${token}\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 1)}`,
    );
    const lastUsed = async () =>
      (await workspace.database.ask((db) => listTokens(db, cast.teamId))).find((listed) => listed.id === id)
        ?.last_used_at;
    await until("the server has let the token in", lastUsed);
    await workspace.database.write((tx) => revokeToken(tx, cast.teamId, id, actor));
    const revokedAt = performance.now();
    await until("the body is late", () => performance.now() - revokedAt > 150);
    connection.write(body.slice(1));
    const answer = await until("the request is answered", () => connection.answers()[0]);
    expect(answer.status).toBe(401);
  });

  test("when its person is deactivated, and it stays refused when the person comes back", async () => {
    const { workspace, cast } = stage;
    const person = await workspace.person(cast.teamId, "Paul Parting");
    const { client } = await clientInUse(person);
    await workspace.database.write((tx) => deactivate(tx, person, actor));
    expect((await client.get("/channels")).status).toBe(401);
    await workspace.database.write((tx) => reactivate(tx, { ...person, deactivatedAt: Date.now() }, actor));
    expect((await client.get("/channels")).status).toBe(401);
    const next = await clientInUse(person);
    expect((await next.client.get("/channels")).status).toBe(200);
  });

  test("when its bot is deleted, whose messages stay under its name", async () => {
    const { workspace, cast } = stage;
    const bot = await workspace.bot(cast.teamId, "Short-lived Bot", [cast.open]);
    const { client } = await clientInUse(bot);
    const messages = `/channels/${cast.open.id}/messages`;
    const posted = await client.post<{ data: { id: string; author: object } }>(messages, { body: "hello" });
    await workspace.database.write((tx) => deleteBot(tx, bot, actor));
    expect((await client.get("/channels")).status).toBe(401);

    const member = await stage.as(cast.member);
    const read = await member.get<typeof posted.json>(`${messages}/${posted.json.data.id}`);
    expect(read.json).toEqual(posted.json);
  });

  test("when it expires, without any other action", async () => {
    const { workspace, cast, server } = stage;
    const expiresAt = Date.now() + 1_500;
    const { token } = await workspace.database.write((tx) =>
      createToken(tx, cast.bot, { name: "brief", scopes, expiresAt }, actor),
    );
    const client = apiClient(server.url, token);
    expect((await client.get("/channels")).status).toBe(200);
    await until("the token expires", async () => (await client.get("/channels")).status === 401);
    expect(Date.now()).toBeGreaterThanOrEqual(expiresAt);
  });
});

describe("a channel is closed with the very next request", () => {
  test("to a bot and to a human who were removed from a private one", async () => {
    const { workspace, cast } = stage;
    const person = await workspace.person(cast.teamId, "Rita Removed");
    await workspace.join(cast.secret, person);
    for (const user of [cast.bot, person]) {
      const { client } = await clientInUse(user);
      const messages = `/channels/${cast.secret.id}/messages`;
      expect((await client.post(messages, { body: "hello" })).status).toBe(201);
      await workspace.leave(cast.secret, user);
      expect((await client.get(messages)).status).toBe(404);
      expect((await client.post(messages, { body: "hello" })).status).toBe(404);
      expect((await client.get(`/channels/${cast.secret.id}/members`)).status).toBe(404);
    }
  });

  test("to the writing of a human who was removed from a public one, and to a bot as a whole", async () => {
    const { workspace, cast } = stage;
    const bot = await workspace.bot(cast.teamId, "Removed Bot", [cast.open]);
    const person = await workspace.person(cast.teamId, "Piet Public");
    await workspace.join(cast.open, person);
    const messages = `/channels/${cast.open.id}/messages`;
    for (const [user, status] of [
      [bot, 404],
      [person, 403],
    ] as const) {
      const { client } = await clientInUse(user);
      expect((await client.post(messages, { body: "hello" })).status).toBe(201);
      await workspace.leave(cast.open, user);
      expect((await client.post(messages, { body: "hello" })).status).toBe(status);
    }
  });

  test("to an admin who is one no more", async () => {
    const { workspace, cast } = stage;
    const person = await workspace.person(cast.teamId, "Anna Admin-for-a-day", "admin");
    const { client } = await clientInUse(person);
    const hidden = await workspace.channel(cast.owner, "for owners", "private");
    expect((await client.get(`/channels/${hidden.id}/members`)).status).toBe(200);
    await workspace.database.write((tx) => setRole(tx, person, "member", actor));
    expect((await client.get(`/channels/${hidden.id}/members`)).status).toBe(404);
    expect((await client.post(`/channels/${hidden.id}/archive`)).status).toBe(404);
  });
});
