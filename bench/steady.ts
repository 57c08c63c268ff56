import { atHosts } from "./deliveries.ts";
import { type Parley, startParley } from "./parley.ts";
import { manyConnections, postRequest } from "./posts.ts";
import { type Seeded, seedWorkspace, subscribe } from "./workspace.ts";

/** One rate that is tried: how many deliveries a second, to how many subscriptions that all get each message. */
export type Steady = {
  subscriptions: number;
  perSecond: number;
  seconds: number;
  /** A delivery that arrives so many milliseconds after its post was due is late. */
  lateMs: number;
};

/** What became of the posts and deliveries of one rate; all spans in milliseconds. */
export type Kept = {
  /** From when a post was due until its event arrived, for each subscription. */
  spans: number[];
  /** From when a post was due until it was answered. */
  posts: number[];
  /** How many deliveries had not arrived a second after the last post was due, or when it was given up. */
  left: number;
  rssMb: number;
};

/** At so many hosts the bound of a host slows no delivery down. */
const hosts = 5;

/** A rate is given up as soon as this share of all its deliveries has been late. */
const lateShareMax = 0.01;

/** First the server gets half the rate for this long, which does not count, while it compiles its hot functions. */
const warmUpSeconds = 2;

/** Deliveries that are not there so long after the last post was due are left. */
const graceMs = 1_000;

const text =
  "Build 4711 of the main branch passed in 4 minutes and 12 seconds: 1204 tests, none of them flaky.";

/**
 * Posts at the rate to a new server and receives its deliveries, both in this process, so that one clock has both ends.
 * @throws when a post is refused, or when more arrives than was posted.
 */
export async function keepSteady({ subscriptions, perSecond, seconds, lateMs }: Steady): Promise<Kept> {
  const workspace = await seedWorkspace();
  await using receiver = receiveSpans();
  const urls = atHosts(receiver, Math.min(hosts, subscriptions));
  await subscribe(workspace, urls, { count: subscriptions / urls.length });
  await using parley = await startParley(workspace.dataDir);

  const postsPerSecond = perSecond / subscriptions;
  const warmUps = Math.floor((postsPerSecond / 2) * warmUpSeconds);
  const count = warmUps + Math.floor(postsPerSecond * seconds);
  using posting = await postSteadily(parley, workspace, { perSecond: postsPerSecond, warmUps, count });
  const measuredFrom = posting.dueAt(warmUps);
  const lateMax = (count - warmUps) * subscriptions * lateShareMax;
  const endsAt = posting.dueAt(count) + graceMs;
  for (let seen = 0, late = 0; late <= lateMax && performance.now() < endsAt; await Bun.sleep(10)) {
    if (posting.refusal !== undefined) throw new Error(`A post was refused: ${posting.refusal}`);
    const news = receiver.arrived.slice(seen);
    seen += news.length;
    late += news.filter(({ dueAt, at }) => dueAt >= measuredFrom && at - dueAt >= lateMs).length;
    if (seen >= count * subscriptions) break;
  }
  const left = count * subscriptions - receiver.arrived.length;
  if (left < 0) throw new Error(`${-left} more deliveries arrived than messages were posted`);
  return {
    spans: receiver.arrived.filter(({ dueAt }) => dueAt >= measuredFrom).map(({ dueAt, at }) => at - dueAt),
    posts: posting.spans.slice(warmUps),
    left,
    rssMb: parley.rssMb(),
  };
}

/** Receives the messages of `postSteadily`: when each was due, as its text begins, and when it arrived. */
function receiveSpans(): AsyncDisposable & {
  firstLine: string;
  arrived: Array<{ dueAt: number; at: number }>;
} {
  const arrived: Array<{ dueAt: number; at: number }> = [];
  const server = Bun.serve({
    port: 0,
    hostname: "0.0.0.0",
    async fetch(request) {
      const at = performance.now();
      const { data } = (await request.json()) as { data: { body: string } };
      arrived.push({ dueAt: Number.parseFloat(data.body), at });
      return new Response();
    },
  });
  return {
    firstLine: `http://127.0.0.1:${server.port}`,
    arrived,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

type Posting = Disposable & {
  /** When the post of this number was or will be due. */
  dueAt(nth: number): number;
  /** How long each answered post took since it was due. */
  spans: number[];
  /** The first answer that was no 201. */
  refusal?: string;
};

/**
 * Begins to post `count` messages, the first `warmUps` at half the rate. Each is posted when it is due and not when an
 * earlier one is answered: a server that falls behind gets no fewer. Only while no connection is free does a post wait,
 * and that counts as part of its span. Writes to sockets, since `fetch` takes as much of the processor as the server.
 */
async function postSteadily(
  parley: Parley,
  workspace: Seeded,
  { perSecond, warmUps, count }: { perSecond: number; warmUps: number; count: number },
): Promise<Posting> {
  const { url, headers } = postRequest(parley, workspace);
  const { host, hostname, port, pathname } = new URL(url);
  const fields = Object.entries({ Host: host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `POST ${pathname} HTTP/1.1\r\n${fields.join("")}Content-Length: `;

  type Connection = Bun.Socket<{ dueAt: number; answer: string }>;
  const idle: Connection[] = [];
  let sent = 0;
  const posting: Posting = { dueAt: () => Number.NaN, spans: [], [Symbol.dispose]: stop };

  function postWhatIsDue(): void {
    for (const now = performance.now(); sent < count && posting.dueAt(sent) <= now; sent++) {
      const connection = idle.pop();
      if (connection === undefined) return;
      const dueAt = posting.dueAt(sent);
      connection.data = { dueAt, answer: "" };
      const body = JSON.stringify({ body: `${dueAt.toFixed(3)} ${text}` });
      connection.write(`${head}${body.length}\r\n\r\n${body}`);
    }
  }
  function read(connection: Connection, part: Buffer): void {
    const { data } = connection;
    data.answer += part.toString("latin1");
    if (!isWhole(data.answer)) return;
    if (!data.answer.startsWith("HTTP/1.1 201 ")) posting.refusal ??= data.answer;
    posting.spans.push(performance.now() - data.dueAt);
    idle.push(connection);
    postWhatIsDue();
  }

  const connections: Connection[] = await Promise.all(
    Array.from({ length: manyConnections }, () =>
      Bun.connect({
        hostname,
        port: Number(port),
        data: { dueAt: 0, answer: "" },
        socket: { data: read },
      }),
    ),
  );
  idle.push(...connections);
  const startedAt = performance.now();
  posting.dueAt = (nth) => startedAt + ((nth + Math.min(nth, warmUps)) / perSecond) * 1000;
  const timer = setInterval(postWhatIsDue, 1);
  return posting;

  function stop(): void {
    clearInterval(timer);
    for (const connection of connections) connection.terminate();
  }
}

function isWhole(answer: string): boolean {
  const end = answer.indexOf("\r\n\r\n");
  const length = /\r\ncontent-length: ([0-9]+)\r\n/i.exec(answer)?.[1];
  return end !== -1 && answer.length >= end + 4 + Number(length);
}
