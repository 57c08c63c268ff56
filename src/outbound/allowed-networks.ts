import { BlockList } from "node:net";
import type { AddressBlock } from "../input/address-block.ts";

/** The networks that deliveries may reach although they are not public (`WEBHOOKS_ALLOW_ADDRESSES`). */
export class AllowedNetworks {
  // One list per family: a BlockList equates an IPv4 address with its mapped form, which stays refused.
  readonly #lists = { ipv4: new BlockList(), ipv6: new BlockList() };

  constructor(blocks: readonly AddressBlock[]) {
    for (const { network, prefix, family } of blocks) this.#lists[family].addSubnet(network, prefix, family);
  }

  /** Whether one of the networks has this address. Takes canonical text only. */
  includes(address: string): boolean {
    const family = address.includes(":") ? "ipv6" : "ipv4";
    return this.#lists[family].check(address, family);
  }
}
