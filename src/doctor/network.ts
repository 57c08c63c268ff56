import { createServer } from "node:net";
import type { Connection, Database } from "../database/database.ts";
import { hostNameOf } from "../outbound/address-guard.ts";
import { Resolver } from "../outbound/resolver.ts";
import type { ServerNote } from "../database/server-note.ts";
import { listAllSubscriptions } from "../subscriptions/subscriptions.ts";
import { explainDataError } from "../system/data-errors.ts";
import { errorCode, hasCode } from "../system/error-code.ts";
import { listTeams } from "../teams/teams.ts";
import { type Finding, failed, ok, type Patient, reasonOf, skipped, warning } from "./finding.ts";

/** How long a look-up and a request may take, in milliseconds. */
const waitMs = 5_000;
/** How many names of receivers are looked up. */
const namesMax = 5;

/** What TLS says of a certificate that no known authority has signed. */
const selfSigned = ["DEPTH_ZERO_SELF_SIGNED_CERT", "SELF_SIGNED_CERT_IN_CHAIN"];
const unknownIssuer = ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "UNABLE_TO_GET_ISSUER_CERT_LOCALLY"];

/** Checks that the running server answers here, or else that one could listen on its port. */
export async function checkPort(
  { dataDir, config }: Patient,
  { isRunning, note }: { isRunning: boolean; note: ServerNote | undefined },
): Promise<Finding[]> {
  const check = "server";
  if (isRunning && !note) {
    return [
      skipped(check, "one runs, but its address is not known: it left no server.json, like older versions"),
    ];
  }
  if (note) {
    const answer = await ask(`${note.url}/readyz`);
    if ("error" in answer) {
      return [
        failed(
          check,
          `It runs as process ${note.pid} and does not answer at ${note.url}: ${answer.error}.`,
          "Look at its log, and restart it.",
        ),
      ];
    }
    if (answer.status === 200) return [ok(check, `answers at ${note.url}`)];
    return [
      failed(
        check,
        `It is not ready: ${troublesOf(answer.body)}.`,
        "Look at its log, and at docs/troubleshooting.md.",
      ),
    ];
  }
  if (!config) return [skipped(check, "the settings have to be valid first")];
  const { host, port } = config;
  const code = await whyNotBindable(host, port);
  if (code === undefined) return [ok(check, `none runs; port ${port} of ${host} is free`)];
  return [
    failed(
      check,
      `None runs, and none could start: ${
        code === "EADDRINUSE"
          ? `port ${port} of ${host} is taken`
          : reasonOf(explainDataError(Object.assign(new Error(code), { code }), dataDir))
      }.`,
      "Choose another port with PARLEY_PORT, or another address with PARLEY_HOST.",
    ),
  ];
}

/** Checks that the public address leads to a parley. */
export async function checkBaseUrl({ config }: Patient, isRunning: boolean): Promise<Finding[]> {
  const check = "base URL";
  if (!config) return [skipped(check, "the settings have to be valid first")];
  const { baseUrl } = config;
  if (baseUrl === "") return [skipped(check, "PARLEY_BASE_URL is not set")];
  if (!isRunning) return [skipped(check, `no server runs that could answer at ${baseUrl}`)];
  const answer = await ask(`${baseUrl}/livez`);
  if (!("error" in answer)) return [judgeAnswer(check, baseUrl, answer)];
  if (!hasCode(answer.cause, ...selfSigned, ...unknownIssuer)) {
    return [
      failed(
        check,
        `${baseUrl} does not answer: ${answer.error}.`,
        "Look at the reverse proxy and at the name's address, or correct PARLEY_BASE_URL.",
      ),
    ];
  }
  const kind = hasCode(answer.cause, ...selfSigned)
    ? "a self-signed certificate"
    : "a certificate of an unknown issuer";
  const unverified = await ask(`${baseUrl}/livez`, false);
  const behind = "error" in unverified ? undefined : judgeAnswer(check, baseUrl, unverified);
  if (behind?.state === "failed") return [behind];
  return [
    warning(
      check,
      `${baseUrl} has ${kind}: senders refuse it unless they are told to trust it.`,
      "Get a certificate of a public authority, such as Let's Encrypt, if senders are not your own.",
    ),
  ];
}

/** Looks up the name of the public address and those of some receivers, as deliveries do. */
export async function checkNames(
  { config }: Patient,
  askDatabase: Database["ask"] | undefined,
): Promise<Finding[]> {
  const check = "DNS";
  const own = config?.baseUrl ? hostOf(config.baseUrl) : undefined;
  const receivers = askDatabase ? await askDatabase(receiverNames) : [];
  const names = new Set([...(own === undefined ? [] : [own]), ...receivers].slice(0, namesMax + 1));
  if (names.size === 0) return [skipped(check, "no address has a name that could be looked up")];
  const resolver = new Resolver();
  const looked = await Promise.all(
    [...names].map(async (name) => ({ name, isFound: await isFound(resolver, name) })),
  );
  const missing = looked.filter((each) => !each.isFound).map(({ name }) => name);
  if (missing.length === 0) return [ok(check, `found ${[...names].join(", ")}`)];
  return [
    warning(
      check,
      `No address was found for ${missing.join(", ")}.`,
      missing.length === names.size
        ? "Look at /etc/resolv.conf and at the name server."
        : "Look at those names; the name server answers for others.",
    ),
  ];
}

/** The host names of active receivers, at most `namesMax`. */
async function receiverNames(db: Connection): Promise<string[]> {
  const names = new Set<string>();
  for (const team of await listTeams(db)) {
    for (const { url, status } of await listAllSubscriptions(db, team.id)) {
      const name = url !== null && status === "active" && names.size < namesMax ? hostOf(url) : undefined;
      if (name !== undefined) names.add(name);
    }
  }
  return [...names];
}

/** The name of the URL's host; undefined for an IP address. */
function hostOf(url: string): string | undefined {
  return URL.canParse(url) ? hostNameOf(new URL(url)) : undefined;
}

type Answer = { status: number; body: string; isParley: boolean } | { error: string; cause: unknown };

/** One GET without redirects, proxies and, with `isVerified` false, without a look at the certificate. */
async function ask(url: string, isVerified = true): Promise<Answer> {
  const request: BunFetchRequestInit = {
    redirect: "manual",
    proxy: false,
    keepalive: false,
    signal: AbortSignal.timeout(waitMs),
    tls: { rejectUnauthorized: isVerified },
  };
  try {
    const response = await fetch(url, request);
    const body = (await response.text()).slice(0, 4_096);
    return { status: response.status, body, isParley: response.headers.has("x-request-id") };
  } catch (cause) {
    const error =
      cause instanceof Error && cause.name === "TimeoutError" ? "no answer in time" : reasonOf(cause);
    return { error: error.replace(/\.$/, ""), cause };
  }
}

function judgeAnswer(
  check: string,
  baseUrl: string,
  { status, isParley }: Exclude<Answer, { error: string }>,
): Finding {
  if (status === 200 && isParley) return ok(check, `a parley answers at ${baseUrl}`);
  const found = isParley ? `A parley answers at ${baseUrl}, but` : `Something else answers at ${baseUrl}:`;
  return failed(
    check,
    `${found} ${baseUrl}/livez is ${status}.`,
    "Let the reverse proxy pass every path on, with X-Request-Id in the responses, or correct PARLEY_BASE_URL.",
  );
}

/** The reasons in the body of `/readyz`. */
function troublesOf(body: string): string {
  try {
    const { status, checks = {} } = JSON.parse(body) as {
      status?: string;
      checks?: Record<string, { reason?: string }>;
    };
    const reasons = Object.values(checks).flatMap(({ reason }) => (reason === undefined ? [] : [reason]));
    return reasons.join(" ").replace(/\.$/, "") || String(status);
  } catch {
    return "its answer cannot be read";
  }
}

/** The code of the error of listening there; undefined when it works. */
async function whyNotBindable(host: string, port: number): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const server = createServer();
  server.on("error", (error) => resolve(errorCode(error) ?? reasonOf(error)));
  server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  return await promise;
}

async function isFound(resolver: Resolver, name: string): Promise<boolean> {
  const late = Promise.withResolvers<false>();
  const timer = setTimeout(() => late.resolve(false), waitMs);
  try {
    return await Promise.race([resolver.resolve(name).then((found) => found.length > 0), late.promise]);
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}
