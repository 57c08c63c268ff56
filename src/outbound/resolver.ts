import { dns } from "bun";
import { statSync, readFileSync } from "node:fs";
import { setServers } from "node:dns";

/**
 * Resolves names by the hosts file and the DNS. The system's resolver (getaddrinfo) runs on a few threads, so a few
 * names whose servers hang would delay every other delivery; c-ares waits for any number of names at once.
 */
export class Resolver {
  readonly #configuration: string;
  #changedAt: number;

  /** `configuration` is the path of a file in the format of resolv.conf(5). */
  constructor(configuration = "/etc/resolv.conf") {
    this.#configuration = configuration;
    this.#changedAt = this.#lastChange();
  }

  /** Returns all IPv4 and IPv6 addresses of the name. Rejects with the code `DNS_ENOTFOUND` when there is none. */
  async resolve(host: string): Promise<string[]> {
    this.#followNameServers();
    const records = await dns.lookup(host, { backend: "c-ares" });
    return records.map(({ address }) => address);
  }

  // c-ares reads its configuration only once, but the machine may move to another network.
  #followNameServers(): void {
    const changedAt = this.#lastChange();
    if (changedAt === this.#changedAt) return;
    this.#changedAt = changedAt;
    const text = readFileSync(this.#configuration, "utf8");
    const servers = [...text.matchAll(/^nameserver[ \t]+(\S+)/gm)].map(([, server = ""]) => server);
    if (servers.length > 0) setServers(servers);
  }

  #lastChange(): number {
    return statSync(this.#configuration, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  }
}
