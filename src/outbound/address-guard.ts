import { isIPv4, isIPv6 } from "node:net";
import { isWithin } from "../input/text.ts";
import { cachedOwnAddresses } from "./own-addresses.ts";
import { hasCode } from "../system/error-code.ts";
import { Resolver } from "./resolver.ts";
import { specialBlockOf } from "./special-addresses.ts";

/** Returns every address of a host name. Rejects when there is none. */
export type Resolve = (host: string) => Promise<readonly string[]>;

/** What the public-address rule depends on. The defaults are those of production. */
export type AddressGuard = {
  /**
   * `WEBHOOKS_BLOCK_PRIVATE_URLS`. When false, any host and any address is allowed; a URL must still be well formed,
   * and the connection still goes to an address that was resolved here.
   */
  blockPrivate: boolean;
  /** Knows the addresses that are allowed although they are not public, or belong to this machine. */
  allow?: { includes(address: string): boolean };
  resolve?: Resolve;
  /** The addresses of this machine, which a delivery would reach past the firewall. */
  ownAddresses?: () => readonly string[];
};

/**
 * The parsed URL, which is the only form to connect with, or why it is refused. The detail of a `malformed` URL follows
 * from its text and may be shown to its author; the detail of a `blocked` one is for the server's log only.
 */
export type JudgedUrl =
  | { ok: true; url: URL }
  | { ok: false; reason: "malformed" | "blocked"; detail: string };

/**
 * The URL with the addresses that a delivery may connect to, in the order of the DNS response, or why it is refused.
 * The detail of a `blocked` URL names what was resolved and is for the server's log only; the others may be shown to
 * anyone.
 */
export type Vetted =
  | { ok: true; url: URL; addresses: string[] }
  | { ok: false; reason: "malformed" | "blocked" | "unresolvable"; detail: string };

const maxUrlLength = 2048; // code points, specification part 8
const maxAddresses = 100; // a name with more addresses is not a receiver

const resolver = new Resolver();
const resolveByDns: Resolve = (host) => resolver.resolve(host);
const machineAddresses = cachedOwnAddresses();

/**
 * Checks the text of a subscription's URL without resolving its host: the syntax, the host names that specification
 * part 6 rule 4 refuses, and a host that is an address. Never throws.
 */
export function judgeUrl(text: string, guard: AddressGuard): JudgedUrl {
  const url = parse(text);
  if (typeof url === "string") return { ok: false, reason: "malformed", detail: url };
  const detail = whyNotHost(url, guard);
  return detail === undefined ? { ok: true, url } : { ok: false, reason: "blocked", detail };
}

/**
 * Returns why nothing may be delivered to the address; undefined when it is public: in canonical text, outside every
 * special block, and not this machine's own. The reason names the address and is for the server's log only.
 */
export function whyNotPublic(
  address: string,
  guard: Omit<AddressGuard, "blockPrivate"> = {},
): string | undefined {
  const { allow, ownAddresses = machineAddresses } = guard;
  const notCanonical = whyNotCanonical(address);
  if (notCanonical !== undefined) return notCanonical;
  if (allow?.includes(address)) return undefined;
  const special = specialBlockOf(address);
  if (special !== undefined) return `${address} is in ${special.block} (${special.name}, ${special.source})`;
  return ownAddresses().includes(address) ? `${address} is an address of this machine` : undefined;
}

/**
 * Checks a URL for one delivery: its text again, then every address that its host has now. A single non-public address
 * blocks the delivery, wherever it is in the DNS response (specification part 6, rule 4). Waits for the resolver for at
 * most `timeoutMs`; an error of the resolver makes the URL `unresolvable`. Never throws because of the URL or resolver.
 */
export async function vet(text: string, guard: AddressGuard, timeoutMs: number): Promise<Vetted> {
  const judged = judgeUrl(text, guard);
  if (!judged.ok) return judged;
  const { url } = judged;
  const literal = literalOf(url);
  if (literal !== undefined) return { ok: true, url, addresses: [literal] };

  const resolved = await resolveWithin(timeoutMs, hostOf(url), guard.resolve ?? resolveByDns);
  if (typeof resolved === "string") return { ok: false, reason: "unresolvable", detail: resolved };
  if (resolved.length > maxAddresses) {
    return { ok: false, reason: "blocked", detail: `host name has ${resolved.length} addresses` };
  }
  for (const address of resolved) {
    const why = guard.blockPrivate ? whyNotPublic(address, guard) : whyNotCanonical(address);
    if (why !== undefined) return { ok: false, reason: "blocked", detail: why };
  }
  return { ok: true, url, addresses: [...new Set(resolved)] };
}

/** Returns the host name without the final dot of a fully qualified name; undefined when the host is an address. */
export function hostNameOf(url: URL): string | undefined {
  return literalOf(url) === undefined ? hostOf(url) : undefined;
}

/** Returns the URL, or what is wrong with its text. */
function parse(text: string): URL | string {
  if (!isWithin(text, maxUrlLength)) return `it is longer than ${maxUrlLength} characters`;
  // The parser removes some of these and turns a backslash into a slash, so they can disguise the host.
  if (/[\p{Cc} \\]/u.test(text)) return "it contains a space, a control character or a backslash";
  const authority = /^https?:\/\/([^/?#]*)/i.exec(text)?.[1];
  if (authority === undefined) return "it does not start with http:// or https://";
  if (authority === "") return "it has no host";
  if (authority.includes("@")) return "it contains a user name or a password";
  if (text.includes("#")) return "it has a fragment";

  const url = URL.parse(text);
  if (url === null) return "it cannot be parsed";
  if (url.port === "0") return "it has port 0";
  // The parser accepts 127.1, 0x7f.1, 2130706433 and full-width digits as addresses; legitimate URLs do not use them.
  if (isIPv4(url.hostname) && url.hostname !== authority.replace(/:[0-9]*$/, "")) {
    return "it contains an IPv4 address that is not in dotted decimal form";
  }
  const name = hostNameOf(url);
  if (name !== undefined && !isHostName(name)) return "it has a host that is not a host name";
  return url;
}

function isHostName(host: string): boolean {
  return host.length <= 253 && host.split(".").every((label) => /^[a-z0-9_-]{1,63}$/.test(label));
}

/** Returns why the host of a URL is refused before it is resolved; undefined when it is not. */
function whyNotHost(url: URL, guard: AddressGuard): string | undefined {
  if (!guard.blockPrivate) return undefined;
  const literal = literalOf(url);
  return literal === undefined ? whyNotName(hostOf(url)) : whyNotPublic(literal, guard);
}

function whyNotName(host: string): string | undefined {
  const labels = host.split(".");
  const last = labels.at(-1);
  if (last === "localhost" || last === "local" || last === "internal") return `host name ends in ${last}`;
  return labels.length < 2 ? "host name has only one label" : undefined;
}

/** An address with a zone or in a form other than the canonical one might be checked as one and dialled as another. */
function whyNotCanonical(address: string): string | undefined {
  if (isIPv4(address)) return undefined;
  const isCanonical = isIPv6(address) && URL.parse(`http://[${address}]/`)?.hostname === `[${address}]`;
  return isCanonical ? undefined : "DNS response contains something other than an address in canonical text";
}

function literalOf(url: URL): string | undefined {
  if (url.hostname.startsWith("[")) return url.hostname.slice(1, -1);
  return isIPv4(url.hostname) ? url.hostname : undefined;
}

function hostOf(url: URL): string {
  return url.hostname.replace(/\.$/, "");
}

async function resolveWithin(
  timeoutMs: number,
  host: string,
  resolve: Resolve,
): Promise<readonly string[] | string> {
  const { promise: timeout, resolve: giveUp } = Promise.withResolvers<string>();
  const timer = setTimeout(() => giveUp(`name resolution timed out after ${timeoutMs} ms`), timeoutMs);
  try {
    const addresses = await Promise.race([resolve(host), timeout]);
    return addresses.length === 0 ? "host name has no address" : addresses;
  } catch (error) {
    const isUnknown = hasCode(error, "DNS_ENOTFOUND");
    return isUnknown ? "host name not found" : "name resolution failed";
  } finally {
    clearTimeout(timer);
  }
}
