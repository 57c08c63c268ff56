import { expect, test } from "bun:test";
import { postMessage } from "../../src/messages/messages.ts";
import { subjectOf } from "../../src/users/users.ts";
import { columnOf } from "../support/data.ts";
import { seedCast } from "../support/cast.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { openWorkspace } from "../support/workspace.ts";

test("the messages of one commit leave no gap, even if some of its calls are rolled back", async () => {
  using folder = temporaryFolder();
  await using workspace = await openWorkspace(folder.path);
  const cast = await seedCast(workspace);
  const { database } = workspace;
  const { id } = cast.open;
  const post = (body: string, isUndone: boolean) =>
    database.write(async (tx) => {
      postMessage(tx, subjectOf(cast.member), id, { body });
      if (isUndone) throw new Error("changed my mind");
    });
  const positions = () =>
    columnOf<number>(folder.path, "SELECT position FROM messages WHERE channel_id = ? ORDER BY position", id);
  const last = () => columnOf<number>(folder.path, "SELECT last_position FROM channels WHERE id = ?", id);

  const before = (await positions()).length;
  await Promise.all(["one", "two", "three"].map((body) => post(body, false)));
  expect(await last()).toEqual([before + 3]);
  const undone = [true, false, false, true, true, false];
  await Promise.allSettled(undone.map((isUndone) => post("again", isUndone)));
  expect(await positions()).toEqual(Array.from({ length: before + 6 }, (_, place) => place + 1));
  expect(await last()).toEqual([before + 6]);
});
