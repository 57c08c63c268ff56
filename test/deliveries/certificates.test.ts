import { expect, test } from "bun:test";
import { Certificates } from "../../src/deliveries/certificates.ts";
import { selectDestination } from "../../src/subscriptions/store.ts";
import { columnOf } from "../support/data.ts";
import { insertSubscriber } from "../support/subscriber.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { openWorkspace } from "../support/workspace.ts";

test("a receiver with two certificates does not have each delivery write which one answered", async () => {
  using folder = temporaryFolder();
  await using workspace = await openWorkspace(folder.path);
  const { database } = workspace;
  const id = await insertSubscriber(database, (await workspace.team("Acme")).id);
  const destination = await database.ask((db) => selectDestination(db, id));
  if (!destination) throw new Error("the subscription has no destination");
  const certificates = new Certificates(database);
  const [one, other] = [{ certificateEndsAt: 1_000 }, { certificateEndsAt: 2_000 }];
  expect(certificates.isNews(destination, {})).toBe(false);
  expect(certificates.isNews(destination, one)).toBe(true);
  await certificates.note(destination, one);
  expect(await columnOf(folder.path, "SELECT certificate_ends_at FROM subscriptions")).toEqual([1_000]);
  expect(certificates.isNews(destination, one)).toBe(false);
  expect(certificates.isNews(destination, other)).toBe(false);
  expect(certificates.isNews({ ...destination, url: "https://elsewhere.example/" }, one)).toBe(true);
});
