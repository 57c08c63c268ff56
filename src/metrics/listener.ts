import { lookup } from "node:dns/promises";
import { DomainError } from "../errors.ts";
import type { ListenAddress } from "../input/listen-address.ts";
import type { Log } from "../log/log.ts";
import { hasCode } from "../system/error-code.ts";

/** What serves `/metrics`. */
export type MetricsListener = { url: string; stop(): Promise<void> };

/** Bun closes idle connections after this time; Prometheus keeps its own from one scrape to the next. */
const idleTimeoutSeconds = 60;

/**
 * Serves `text` at `/metrics` of the address, and nothing else.
 * @throws DomainError `conflict`, `forbidden` or `invalid` when it cannot listen there.
 */
export async function startListener(
  address: ListenAddress,
  text: () => Promise<string>,
  contentType: string,
  log: Log,
): Promise<MetricsListener> {
  const respond = async (request: Request): Promise<Response> => {
    // Undefined for a path or a Host that is no part of a URL.
    if (URL.parse(request.url)?.pathname !== "/metrics") return plain(404, "The metrics are at /metrics.\n");
    if (request.method !== "GET" && request.method !== "HEAD")
      return plain(405, "/metrics takes GET, HEAD.\n", { allow: "GET, HEAD" });
    try {
      return new Response(await text(), { headers: { "content-type": contentType } });
    } catch (error) {
      log.error({ err: error }, "metrics.failed");
      return plain(500, "Internal error. The server's log has the details.\n");
    }
  };
  const server = await listen(address, respond);
  const host = address.host.includes(":") ? `[${address.host}]` : address.host;
  return {
    url: `http://${host}:${server.port}/metrics`,
    stop: () => server.stop(true),
  };
}

async function listen({ host, port }: ListenAddress, fetch: (request: Request) => Promise<Response>) {
  try {
    return Bun.serve({
      hostname: host,
      port,
      idleTimeout: idleTimeoutSeconds,
      // In development mode Bun responds to an error with a page that shows the source.
      development: false,
      // On by default outside of development: another process would share the port.
      reusePort: false,
      fetch,
    });
  } catch (error) {
    throw await explain(error, host, port);
  }
}

async function explain(error: unknown, host: string, port: number): Promise<unknown> {
  const address = `PARLEY_METRICS_ADDRESS: port ${port} of ${host}`;
  const advice = "Choose another, such as 127.0.0.1:9464, or none to have no metrics.";
  if (hasCode(error, "EACCES"))
    return new DomainError("forbidden", `${address} may not be used by this login. ${advice}`);
  // Bun reports EADDRINUSE for a name without an address as well.
  const isAddress = await lookup(host).then(
    () => true,
    () => false,
  );
  if (hasCode(error, "EADDRINUSE") && isAddress)
    return new DomainError("conflict", `${address} is taken. ${advice}`);
  if (hasCode(error, "EADDRINUSE", "EADDRNOTAVAIL", "EINVAL", "ENOTFOUND"))
    return new DomainError("invalid", `${address} is not an address of this machine. ${advice}`);
  return error;
}

function plain(status: number, text: string, headers: Record<string, string> = {}): Response {
  return new Response(text, { status, headers: { "content-type": "text/plain; charset=utf-8", ...headers } });
}
