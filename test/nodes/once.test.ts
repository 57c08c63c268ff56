import { expect, test } from "bun:test";
import type { Message } from "../../src/messages/schemas.ts";
import { startNodes } from "../support/nodes.ts";

test("a request that is repeated a hundred times over two nodes makes one message", async () => {
  await using stage = await startNodes(2, { INTEGRATIONS_API_RATE_LIMIT: "1000000" });
  const path = `/channels/${stage.team.general.id}/messages`;
  const headers = { "idempotency-key": "deployment 12" };
  const responses = await Promise.all(
    Array.from({ length: 100 }, (_, n) =>
      stage.api(n % 2).post<{ data: Message }>(path, { body: "once" }, headers),
    ),
  );
  expect(new Set(responses.map(({ status, json }) => `${status} ${json.data.id}`)).size).toBe(1);
  const { json } = await stage.api(0).get<{ data: Message[] }>(path);
  expect(json.data.filter(({ type }) => type === "standard").map(({ body }) => body)).toEqual(["once"]);
});
