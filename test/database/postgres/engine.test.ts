import { expect, test } from "bun:test";
import { openPostgres } from "../../../src/database/postgres/open.ts";
import { sql } from "drizzle-orm";
import type { Connection } from "../../../src/database/database.ts";
import { getMessage, postMessage } from "../../../src/messages/messages.ts";
import { subjectOf } from "../../../src/users/users.ts";
import { freshDatabase } from "../../support/postgres.ts";
import { selectMembers } from "../../../src/channels/member-store.ts";
import { createPerson } from "../../../src/accounts/people.ts";
import { joinChannel, leaveChannel } from "../../../src/members/members.ts";
import { actor, Workspace } from "../../support/workspace.ts";

/** The positions of the channel's messages, in ascending order. */
function positionsOf(db: Connection, channelId: string): number[] {
  const rows = db.all<{ position: number }>(
    sql`SELECT position FROM messages WHERE channel_id = ${channelId} ORDER BY position`,
  );
  return rows.map(({ position }) => position);
}

test("what is posted at once on PostgreSQL has dense positions and can be read back", async () => {
  await using fresh = await freshDatabase();
  await using workspace = new Workspace(await openPostgres(fresh.url));
  const { database } = workspace;
  const { owner, general } = await workspace.team("Acme");
  const subject = subjectOf(owner);
  const posted = await Promise.all(
    Array.from({ length: 200 }, (_, number) =>
      database.write((tx) => postMessage(tx, subject, general.id, { body: `message ${number}` })),
    ),
  );
  const positions = await database.ask((db) => positionsOf(db, general.id));
  expect(positions).toEqual(positions.map((_, at) => at + 1));
  for (const message of [posted[0], posted.at(-1)])
    expect(await database.ask((db) => getMessage(db, subject, general.id, message?.id ?? ""))).toEqual(
      message as NonNullable<typeof message>,
    );
});

test("a client_uuid that two nodes use at the same time posts one message", async () => {
  await using fresh = await freshDatabase();
  await using one = new Workspace(await openPostgres(fresh.url));
  await using other = new Workspace(await openPostgres(fresh.url));
  const { owner, general } = await one.team("Acme");
  const input = { body: "once", client_uuid: "6f9619ff-8b86-4d01-b42d-00cf4fc964ff" };
  const posted = await Promise.all(
    Array.from({ length: 40 }, (_, number) =>
      (number % 2 === 0 ? one : other).database.write((tx) =>
        postMessage(tx, subjectOf(owner), general.id, input),
      ),
    ),
  );
  expect(new Set(posted.map(({ id }) => id)).size).toBe(1);
});

test("a change on one node holds for the next question and the next change on another", async () => {
  await using fresh = await freshDatabase();
  await using one = new Workspace(await openPostgres(fresh.url));
  await using other = new Workspace(await openPostgres(fresh.url));
  const { owner } = await one.team("Acme");
  const channel = await one.channel(owner, "builds");
  const post = () =>
    other.database.write((tx) => postMessage(tx, subjectOf(owner), channel.id, { body: "hello" }));
  await post();
  await one.archive(channel);
  expect(await post().catch(String)).toContain("archived");
});

test("a change on PostgreSQL that has posted and asks for the message sees it", async () => {
  await using fresh = await freshDatabase();
  await using workspace = new Workspace(await openPostgres(fresh.url));
  const { database } = workspace;
  const { owner, general } = await workspace.team("Acme");
  const subject = subjectOf(owner);
  const [posted, seen] = await database.write((tx) => {
    const { id } = postMessage(tx, subject, general.id, { body: "hello" });
    return [id, getMessage(tx, subject, general.id, id)];
  });
  expect(seen).toMatchObject({ id: posted, body: "hello" });
});

test("a change on PostgreSQL runs once however many statements it awaits, and sees what it has changed", async () => {
  await using fresh = await freshDatabase();
  await using workspace = new Workspace(await openPostgres(fresh.url));
  const { owner, general } = await workspace.team("Acme");
  let runs = 0;
  const members = await workspace.database.write(async (tx) => {
    runs++;
    for (let number = 0; number < 60; number++) {
      const user = await createPerson(tx, owner.teamId, { name: `Person ${number}`, role: "member" }, actor);
      await joinChannel(tx, general, user, actor);
      if (number % 2 === 0) await leaveChannel(tx, general, user, actor);
    }
    return await selectMembers(tx, general.id);
  });
  const { length } = members.filter(({ id }) => id !== owner.id);
  expect(length).toBe(30);
  // What it reads by plain calls interrupts it, but not each time.
  expect(runs).toBeLessThan(50);
});
