import { dns } from "bun";
import { statSync, readFileSync } from "node:fs";
import { setServers } from "node:dns";

/**
 * Looks names up in the hosts file and the DNS. The system's own look-up does so on a handful of threads, where a few
 * names whose servers hang would keep every other delivery waiting; this one (c-ares) waits for any number at once.
 */
export class Resolver {
  readonly #configuration: string;
  #changedAt: number;

  /** `configuration` is a file as resolv.conf(5) describes it. */
  constructor(configuration = "/etc/resolv.conf") {
    this.#configuration = configuration;
    this.#changedAt = this.#lastChange();
  }

  /** Every address of the name, of both families. Rejects when there is none, with the code `DNS_ENOTFOUND`. */
  async resolve(host: string): Promise<string[]> {
    this.#followNameServers();
    const answers = await dns.lookup(host, { backend: "c-ares" });
    return answers.map(({ address }) => address);
  }

  // What c-ares has read at the start it keeps, while the machine may move to another network.
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
