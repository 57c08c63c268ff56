/** An address to listen on. The host of an IPv6 address is without brackets; port 0 is any free one. */
export type ListenAddress = { host: string; port: number };

/** Reads `127.0.0.1:9464`, `localhost:9464` or `[::1]:9464`; undefined for anything else. */
export function parseListenAddress(text: string): ListenAddress | undefined {
  const [, ipv6, name, digits] = /^(?:\[([\da-f:.]+)\]|([\w.-]+)):(\d{1,5})$/i.exec(text) ?? [];
  const host = ipv6 ?? name;
  const port = Number(digits);
  return host === undefined || port > 65_535 ? undefined : { host, port };
}
