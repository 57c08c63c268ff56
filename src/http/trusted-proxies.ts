import { BlockList } from "node:net";
import { type AddressBlock, canonicalAddress } from "../input/address-block.ts";

/** An address with the port that some proxies add; IPv6 then has brackets. */
const withPort = /^(?:\[([^\]]*)\]|([^:]*))(?::\d{1,5})?$/;

/** The reverse proxies whose word about a client's address counts (`PARLEY_TRUSTED_PROXIES`). */
export class TrustedProxies {
  readonly #proxies = new BlockList();

  constructor(blocks: readonly AddressBlock[]) {
    for (const { network, prefix, family } of blocks) this.#proxies.addSubnet(network, prefix, family);
  }

  /**
   * Returns the address of the client behind the proxies. Each proxy adds the address that it was called from at the
   * end of `X-Forwarded-For`, so the header is read from there: the client is the first address that is no trusted
   * proxy. What stands before it is the client's own word. An entry that is no address ends the reading at the last
   * trusted proxy. `peer` is the address that the connection came from, in its canonical form.
   */
  clientOf(peer: string, headers: Headers): string {
    if (!this.#includes(peer)) return peer;
    let client = peer;
    for (const hop of headers.get("x-forwarded-for")?.split(",").toReversed() ?? []) {
      const address = addressOf(hop.trim());
      if (address === undefined) break;
      client = address;
      if (!this.#includes(client)) break;
    }
    return client;
  }

  #includes(address: string): boolean {
    return this.#proxies.check(address, address.includes(":") ? "ipv6" : "ipv4");
  }
}

function addressOf(hop: string): string | undefined {
  const [, inBrackets, plain] = withPort.exec(hop) ?? [];
  return canonicalAddress(inBrackets ?? plain ?? hop);
}
