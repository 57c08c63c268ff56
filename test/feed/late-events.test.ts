import { expect, test } from "bun:test";
import { Feed } from "../../src/feed/feed.ts";
import { until } from "../support/conditions.ts";
import { startPair } from "../support/late-commits.ts";
import { bodyOf } from "./feed-reader.ts";

type Pair = Awaited<ReturnType<typeof startPair>>;

/** Reads as a request without a client does. */
function readerOf(feed: Feed, { teamId, subscriptionIds: [id] }: Pair) {
  const reader = {
    teamId,
    tokenId: "",
    signal: new AbortController().signal,
    beSilentFor() {},
    requireStillValid() {},
  };
  return (query: { after?: string; wait?: string } = {}) => feed.read(reader, id, query);
}

test("no event is read while one with a lower number may still be committed, and then both are, in order", async () => {
  await using pair = await startPair();
  const { prompt, late, owner, general, other } = pair;
  const feed = new Feed(prompt.database);
  const read = readerOf(feed, pair);
  await prompt.message(other, owner, "committed before");
  const { data, meta } = await read();
  expect(data.map(bodyOf)).toEqual(["committed before"]);

  const commit = await pair.leaveOpen(() => late.message(general, owner, "committed late"));
  await prompt.message(other, owner, "committed in time");
  const meanwhile = await read({ after: meta.next });
  expect(meanwhile.data).toEqual([]);

  const waiting = read({ after: meanwhile.meta.next, wait: "50" });
  await commit();
  const found = (await waiting).data;
  // The commit that was awaited has ended before the other one's is heard of, or after.
  expect(found.map(bodyOf)).toEqual(["committed late", "committed in time"]);
  feed.stop();
});

test("an event that was committed while another node's commit is open is read once that is over", async () => {
  await using pair = await startPair();
  const { prompt, late, owner, general, other } = pair;
  const feed = new Feed(prompt.database);
  const read = readerOf(feed, pair);
  const commit = await pair.leaveOpen(() => late.message(general, owner, "late"));
  const reading = read({ wait: "50" });
  await prompt.message(other, owner, "in time");
  // Ended by the database, as of a node that is gone: its number stays without an event.
  await pair.rows.column(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND wait_event = 'ClientRead'",
  );
  const { data, meta } = await reading;
  expect(data.map(bodyOf)).toEqual(["in time"]);
  await commit().catch(() => {});
  // Sent again, it comes after what was read.
  const rest = await until("the repeated commit is read", async () => {
    const page = await read({ after: meta.next });
    return page.data.length > 0 && page.data;
  });
  expect(rest.map(bodyOf)).toEqual(["late"]);
  feed.stop();
});
