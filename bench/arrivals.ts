import type { Parley } from "./parley.ts";
import type { Seeded } from "./workspace.ts";

/** A receiver in this process that notes when the event of a message arrives at each of its addresses. */
export type Arrivals = AsyncDisposable & {
  /** The address that goes by this name. */
  url(name: string): string;
  /** Resolves to the time (`performance.now()`) at which the message's event arrived there, once it has. */
  at(name: string, messageId: string): Promise<number>;
};

export function receiveArrivals(): Arrivals {
  const arrivals = new Map<string, PromiseWithResolvers<number>>();
  const arrivalOf = (key: string): PromiseWithResolvers<number> => {
    const arrival = arrivals.get(key) ?? Promise.withResolvers<number>();
    arrivals.set(key, arrival);
    return arrival;
  };
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const at = performance.now();
      const { data } = (await request.json()) as { data: { id: string } };
      arrivalOf(`${new URL(request.url).pathname} ${data.id}`).resolve(at);
      return new Response();
    },
  });
  return {
    url: (name) => `${server.url.origin}/${name}`,
    async at(name, messageId) {
      const key = `/${name} ${messageId}`;
      const at = await arrivalOf(key).promise;
      arrivals.delete(key);
      return at;
    },
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

/** Posts one message; returns its id, when its 201 arrived (`performance.now()`) and how many milliseconds it took. */
export async function postMessage(
  { url }: Parley,
  { token, channel }: Seeded,
): Promise<{ id: string; answeredAt: number; tookMs: number }> {
  const startedAt = performance.now();
  const response = await fetch(`${url}/api/v1/channels/${channel.id}/messages`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ body: "Build 4711 of the main branch passed." }),
  });
  const answeredAt = performance.now();
  const { data } = (await response.json()) as { data: { id: string } };
  return { id: data.id, answeredAt, tookMs: answeredAt - startedAt };
}

/** The fastest of a hundred small round trips, in milliseconds. */
export async function roundTripMs({ url }: Parley): Promise<number> {
  let fastest = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 100; i++) {
    const startedAt = performance.now();
    await (await fetch(`${url}/healthz`)).arrayBuffer();
    fastest = Math.min(fastest, performance.now() - startedAt);
  }
  return fastest;
}

/**
 * Posts a message every `everyMs` for `seconds`. Returns in milliseconds how long each one took from its commit to its
 * arrival at each address (`spans`), and how long each post took (`posts`).
 */
export async function spansToEach(
  addresses: readonly string[],
  { parley, workspace, arrivals }: { parley: Parley; workspace: Seeded; arrivals: Arrivals },
  { seconds, everyMs }: { seconds: number; everyMs: number },
): Promise<{ spans: number[]; posts: number[] }> {
  const tripMs = (await roundTripMs(parley)) / 2;
  const spans: Promise<number>[] = [];
  const posts: Promise<number>[] = [];
  const endsAt = performance.now() + seconds * 1000;
  while (performance.now() < endsAt) {
    const post = postMessage(parley, workspace);
    posts.push(post.then(({ tookMs }) => tookMs));
    for (const address of addresses) {
      const arrived = post.then(({ id }) => arrivals.at(address, id));
      spans.push(Promise.all([arrived, post]).then(([at, { answeredAt }]) => at - answeredAt + tripMs));
    }
    await Bun.sleep(everyMs);
  }
  return { spans: await Promise.all(spans), posts: await Promise.all(posts) };
}
