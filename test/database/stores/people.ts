import * as audit from "../../../src/audit/store.ts";
import * as backup from "../../../src/backup/store.ts";
import * as secrets from "../../../src/secrets/store.ts";
import * as teams from "../../../src/teams/store.ts";
import * as tokens from "../../../src/tokens/store.ts";
import * as users from "../../../src/users/store.ts";
import { at, type StoreCalls, teamId, user } from "./rows.ts";

const token = {
  id: "t-1",
  teamId,
  userId: "u-Ann",
  name: "CI",
  prefix: "ply_",
  hash: "hash-1",
  scopes: "messages:read messages:write",
  expiresAt: null,
  lastUsedAt: null,
  revokedAt: null,
  createdAt: at,
};

/** The stores of teams, the people and bots in them, and of what belongs to the whole workspace. */
export const peopleStores: Record<string, StoreCalls> = {
  "teams/store.ts": {
    module: teams,
    calls: {
      insertTeam: [
        (tx) => teams.insertTeam(tx, { id: teamId, name: "Acme", slug: "acme", createdAt: at }),
        (tx) => teams.insertTeam(tx, { id: "team-2", name: "Zeta", slug: "acme", createdAt: at }),
        (tx) => teams.insertTeam(tx, { id: "team-2", name: "Ägypten", slug: "ägypten", createdAt: at }),
        (tx) => teams.insertTeam(tx, { id: "team-3", name: "Zeta", slug: "zeta", createdAt: at }),
      ],
      selectTeams: [(tx) => teams.selectTeams(tx)],
      selectTeamsNamed: [
        (tx) => teams.selectTeamsNamed(tx, "acme"),
        (tx) => teams.selectTeamsNamed(tx, "Zeta"),
      ],
      updateTeamName: [(tx) => teams.updateTeamName(tx, "team-3", "Yota", "yota")],
    },
  },
  "users/store.ts": {
    module: users,
    calls: {
      insertUser: [
        user("Ann", { role: "owner", email: "ann@example.com", externalId: "A" }),
        user("ben", { displayName: "Ben", givenName: "Ben", familyName: "ODD" }),
        user("Ünal", { email: "u@example.com", givenName: "Ünal", deactivatedAt: at }),
        user("_cy", { role: "admin", externalId: "a", formattedName: "Cy_C 100%" }),
        user("Gone", { removedAt: at + 1, deactivatedAt: at }),
        user("gone", { id: "u-Gone2", removedAt: at + 2, deactivatedAt: at }),
        user("Bot", { type: "bot", role: null, userName: null }),
      ].map((row) => (tx) => users.insertUser(tx, row)),
      selectUser: [
        (tx) => users.selectUser(tx, teamId, "u-Ann"),
        (tx) => users.selectUser(tx, "team-2", "u-Ann"),
      ],
      selectActor: [
        (tx) => users.selectActor(tx, teamId, "human:u-Ann"),
        (tx) => users.selectActor(tx, teamId, "cli:x"),
      ],
      selectUsers: [
        (tx) => users.selectUsers(tx, teamId, {}),
        (tx) => users.selectUsers(tx, teamId, { all: true, type: "human" }),
      ],
      selectUsersNamed: [
        (tx) => users.selectUsersNamed(tx, teamId, "ben"),
        (tx) => users.selectUsersNamed(tx, teamId, "Ben"),
      ],
      selectUserByUserName: ["ANN", "BEN", "ünal", "Ünal", "GONE", "nobody", "bot"].map(
        (name) => (tx) => users.selectUserByUserName(tx, teamId, name),
      ),
      replaceEmails: [
        (tx) =>
          users.replaceEmails(tx, "u-Ann", [{ value: "Ann@Example.com", type: "Work", isPrimary: true }]),
        (tx) =>
          users.replaceEmails(tx, "u-ben", [
            { value: "ben@Home.example", type: "home", isPrimary: false },
            { value: "ben@example.com", type: null, isPrimary: true },
          ]),
        (tx) => users.replaceEmails(tx, "u-Ünal", []),
      ],
      selectOtherOwner: [
        (tx) => users.selectOtherOwner(tx, teamId, "u-Ann"),
        (tx) => users.selectOtherOwner(tx, teamId, "u-ben"),
      ],
      updateRole: [(tx) => users.updateRole(tx, "u-ben", "admin")],
      updateDeactivatedAt: [
        (tx) => users.updateDeactivatedAt(tx, "u-ben", at),
        (tx) => users.updateDeactivatedAt(tx, "u-ben", null),
      ],
    },
  },
  "tokens/store.ts": {
    module: tokens,
    calls: {
      insertToken: [
        (tx) => tokens.insertToken(tx, token),
        (tx) => tokens.insertToken(tx, { ...token, id: "t-2", hash: "hash-2", expiresAt: at }),
      ],
      selectUsableToken: [
        (tx) => tokens.selectUsableToken(tx, "hash-1"),
        (tx) => tokens.selectUsableToken(tx, "hash-9"),
      ],
      selectTokens: [(tx) => tokens.selectTokens(tx, teamId)],
      selectTokenByHash: [(tx) => tokens.selectTokenByHash(tx, "hash-2")],
      revokeTokenRow: [
        (tx) => tokens.revokeTokenRow(tx, teamId, "t-1", at),
        (tx) => tokens.revokeTokenRow(tx, teamId, "t-1", at),
      ],
      revokeTokenRowsOfUser: [(tx) => tokens.revokeTokenRowsOfUser(tx, "u-Ann", at)],
    },
  },
  "audit/store.ts": {
    module: audit,
    calls: {
      insertAuditEntry: ["a", "b"].map(
        (id) => (tx) =>
          audit.insertAuditEntry(tx, {
            id,
            teamId,
            at,
            actor: "cli:x",
            action: "token.created",
            target: "t",
            details: "{}",
          }),
      ),
      selectAuditEntries: [
        (tx) => audit.selectAuditEntries(tx, teamId, { limit: 10 }),
        (tx) => audit.selectAuditEntries(tx, teamId, { action: "token.created", since: at, limit: 1 }),
      ],
    },
  },
  "secrets/store.ts": {
    module: secrets,
    calls: {
      upsertKeyCheck: [1, 2].map((byte) => (tx) => secrets.upsertKeyCheck(tx, Buffer.from([byte]))),
      selectKeyCheck: [(tx) => secrets.selectKeyCheck(tx)],
      upsertKeyRotation: [1, 2].map(
        (byte) => (tx) =>
          secrets.upsertKeyRotation(tx, {
            oldCheckValue: Buffer.from([byte]),
            newCheckValue: Buffer.from([0, byte]),
            startedAt: at,
            startedBy: "cli:x",
          }),
      ),
      selectKeyRotation: [(tx) => secrets.selectKeyRotation(tx)],
      deleteKeyRotation: [(tx) => secrets.deleteKeyRotation(tx), (tx) => secrets.selectKeyRotation(tx)],
    },
  },
  "backup/store.ts": {
    module: backup,
    calls: {
      upsertSchedule: [1, 2].map(
        (keep) => (tx) =>
          backup.upsertSchedule(tx, {
            everyMs: at,
            keep,
            folder: "/backups",
            passphraseFile: null,
            setAt: at,
          }),
      ),
      selectSchedule: [(tx) => backup.selectSchedule(tx)],
      upsertResult: [1, 2].map(
        (bytes) => (tx) =>
          backup.upsertResult(tx, { kind: "made", at, file: "a", bytes: at + bytes, reason: null }),
      ),
      selectResults: [(tx) => backup.selectResults(tx)],
      deleteSchedule: [(tx) => backup.deleteSchedule(tx), (tx) => backup.selectSchedule(tx)],
    },
  },
};
