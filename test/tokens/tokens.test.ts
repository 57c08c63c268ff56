import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { DomainError } from "../../src/errors.ts";
import { newSecret } from "../../src/secrets/secret-text.ts";
import { authenticate, createToken, listTokens, revokeToken } from "../../src/tokens/tokens.ts";
import { until } from "../support/conditions.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import type { UserRow } from "../../src/users/store.ts";
import { actor, openWorkspace, type Workspace } from "../support/workspace.ts";

const folder = temporaryFolder();
let workspace: Workspace;
let owner: UserRow;
let bot: UserRow;

beforeAll(async () => {
  workspace = await openWorkspace(folder.path);
  const team = await workspace.team("Acme");
  owner = team.owner;
  bot = await workspace.bot(team.id, "Build Bot");
});

afterAll(async () => {
  await workspace[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

async function mint(user: UserRow, input: { scopes?: string[]; expiresAt?: number | null } = {}) {
  const full = { name: "test", scopes: ["channels:read"], expiresAt: null, ...input };
  return await workspace.database.write((tx) => createToken(tx, user, full, actor));
}

async function listed(id: string) {
  return (await workspace.database.ask((db) => listTokens(db, owner.teamId))).find(
    (token) => token.id === id,
  );
}

describe("a token", () => {
  test("acts as its user, with its scopes", async () => {
    const { token } = await mint(bot, { scopes: ["messages:read", "channels:read", "messages:read"] });
    expect(token).toStartWith("ply_bot_");
    const grant = await authenticate(workspace.database, token);
    expect(grant?.subject).toEqual({
      id: bot.id,
      teamId: bot.teamId,
      name: "Build Bot",
      type: "bot",
      role: null,
    });
    expect([...(grant?.scopes ?? [])].sort()).toEqual(["channels:read", "messages:read"]);
  });

  test("of a person has a prefix of its own and the person's role", async () => {
    const { token, kind } = await mint(owner);
    expect([token.slice(0, 8), kind]).toEqual(["ply_pat_", "pat"]);
    expect((await authenticate(workspace.database, token))?.subject.role).toBe("owner");
  });

  test("is refused when it looks like a token but is none of ours", async () => {
    for (const text of [
      "",
      "x",
      newSecret("ply_bot_"),
      newSecret("ply_pat_"),
      `${(await mint(bot)).token} `,
    ]) {
      expect(await authenticate(workspace.database, text)).toBeUndefined();
    }
  });

  test("works until the exact millisecond of its expiry", async () => {
    const expiresAt = Date.now() + 3_600_000;
    const { token, expires_at } = await mint(bot, { expiresAt });
    expect(Date.parse(expires_at ?? "")).toBe(expiresAt);
    expect(await authenticate(workspace.database, token, expiresAt - 1)).toBeDefined();
    expect(await authenticate(workspace.database, token, expiresAt)).toBeUndefined();
  });

  test("cannot be created without a scope, with an unknown scope or with an expiry in the past", async () => {
    const refused: Array<[input: Parameters<typeof mint>[1], field: string]> = [
      [{ scopes: [] }, "scopes"],
      [{ scopes: ["channels:read", "channels:delete"] }, "scopes"],
      [{ expiresAt: Date.now() - 1 }, "expires"],
    ];
    for (const [input, field] of refused) {
      const refusal: unknown = await mint(bot, input).catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(DomainError);
      expect(Object.keys((refusal as DomainError).errors ?? {})).toEqual([field]);
    }
  });
});

describe("the list of tokens", () => {
  test("shows enough of each token to tell it apart, and nothing that grants access", async () => {
    const made = await mint(bot);
    const shown = await listed(made.id);
    expect(shown).toMatchObject({ name: "test", kind: "bot", last_used_at: null, expires_at: null });
    expect(shown?.prefix).toBe(made.token.slice(0, "ply_bot_".length + 4));
    expect(JSON.stringify(shown)).not.toContain(made.token.slice(0, "ply_bot_".length + 5));
  });

  test("shows when each was last used, to the minute", async () => {
    const { id, token } = await mint(bot);
    const lastUse = async () => (await listed(id))?.last_used_at;
    const noon = Date.UTC(2026, 10, 20, 12, 0, 0);
    await authenticate(workspace.database, token, noon + 1_234);
    await until("the use is noted", async () => (await lastUse()) === "2026-11-20T12:00:00.000+00:00");
    await authenticate(workspace.database, token, noon + 59_999);
    await authenticate(workspace.database, token, noon + 61_000);
    await until("the next use is noted", async () => (await lastUse()) === "2026-11-20T12:01:00.000+00:00");
  });

  test("is written once a minute for each token, however many requests come at once", async () => {
    const { database } = workspace;
    const made = [await mint(bot), await mint(bot)];
    let writes = 0;
    const counting: typeof database = {
      ...database,
      write: (change) => {
        writes++;
        return database.write(change);
      },
    };
    const use = (at: number) =>
      Promise.all(
        Array.from(
          { length: 100 },
          async (_, turn) => await authenticate(counting, made[turn % 2]?.token ?? "", at),
        ),
      );
    const noon = Date.UTC(2026, 10, 20, 12, 0, 0);
    expect((await use(noon)).filter((grant) => grant === undefined)).toEqual([]);
    expect(writes).toBe(2);
    await use(noon + 59_999);
    expect(writes).toBe(2);
    await use(noon + 60_000);
    expect(writes).toBe(4);
  });

  test("shows no token that was revoked, which cannot be revoked again, nor by another team", async () => {
    const { id } = await mint(bot);
    const other = await workspace.team("Umbrella");
    const revoke = (teamId: string) =>
      workspace.database
        .write((tx) => revokeToken(tx, teamId, id, actor))
        .then(
          () => "revoked",
          (error: unknown) => (error as DomainError).code,
        );
    expect(await revoke(other.id)).toBe("not_found");
    expect(await revoke(bot.teamId)).toBe("revoked");
    expect(await listed(id)).toBeUndefined();
    expect(await revoke(bot.teamId)).toBe("not_found");
  });
});
