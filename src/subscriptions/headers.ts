import type { Transaction } from "../database/database.ts";
import { type FieldErrors, invalid } from "../errors.ts";
import type { SealedKind, Vault } from "../secrets/vault.ts";
import { type HeaderChange, sizeErrors } from "./header-rules.ts";
import type { SubscriptionRow } from "./store.ts";

/** Headers that go with every request to a receiver, by their names in lower case. */
export type OwnHeaders = Readonly<Record<string, string>>;

/** The columns of the headers. */
type HeaderColumns = Pick<SubscriptionRow, "headers" | "headerNames">;
type SealedHeaders = Pick<SubscriptionRow, "id" | "headers">;

const kind: SealedKind = {
  name: "subscription's headers",
  remedy: "give each header again, or remove it",
};

/** Not the place of the secrets, so that neither can be stored in place of the other. */
export function placeOfHeaders(id: string) {
  return `subscriptions:${id}:headers` as const;
}

const none: OwnHeaders = {};

/** Read headers, each for as long as the sealed bytes that they came from are referenced. */
const read = new WeakMap<Uint8Array, OwnHeaders>();

/**
 * The subscription's own headers.
 * @throws DomainError `key_missing` when they cannot be read.
 */
export function openHeaders(vault: Vault, { id, headers: sealed }: SealedHeaders): OwnHeaders {
  if (sealed === null) return none;
  const text = vault.open(sealed, placeOfHeaders(id), kind);
  const headers = read.get(sealed) ?? (Object.fromEntries(JSON.parse(text)) as OwnHeaders);
  read.set(sealed, headers);
  return headers;
}

/** Why the subscription's headers cannot be read, as a sentence for the operator; undefined when they can. */
export function whyHeadersUnreadable(vault: Vault, { id, headers }: SealedHeaders): string | undefined {
  return headers === null ? undefined : vault.whyUnreadable(headers, placeOfHeaders(id), kind);
}

/** The names of the subscription's own headers, in order. */
export function headerNamesOf({ headerNames }: Pick<SubscriptionRow, "headerNames">): string[] {
  return headerNames === "" ? [] : headerNames.split(" ");
}

/**
 * The columns of the subscription after the change. `change` is null where all are removed. Those that stay are read,
 * which needs the key; a lost key does not stand in the way of giving or removing all of them.
 * @throws DomainError `invalid` for a header to remove that is not there, and for too many or too long ones;
 *   `key_missing` when they cannot be read or stored.
 */
export async function changedHeaders(
  tx: Transaction,
  vault: Vault,
  row: SealedHeaders & HeaderColumns,
  change: HeaderChange | null,
): Promise<HeaderColumns> {
  if (change?.size === 0) return { headers: row.headers, headerNames: row.headerNames };
  const missing = change && removalErrors(row, change);
  if (missing && Object.keys(missing).length > 0) throw invalid(missing);
  const stay = change ? namesThatStay(row, change) : [];
  const opened = stay.length > 0 ? openHeaders(vault, row) : none;
  const headers = new Map(stay.map((name) => [name, opened[name] ?? ""]));
  for (const [name, value] of change ?? []) if (value !== null) headers.set(name, value);
  const errors = sizeErrors(headers);
  if (Object.keys(errors).length > 0) throw invalid(errors);
  if (headers.size === 0) return { headers: null, headerNames: "" };
  const sorted = [...headers].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return {
    headers: await vault.seal(tx, JSON.stringify(sorted), placeOfHeaders(row.id)),
    headerNames: sorted.map(([name]) => name).join(" "),
  };
}

/** The names of the headers that the change does not name, so that they keep their values. */
export function namesThatStay(row: HeaderColumns, change: HeaderChange): string[] {
  return headerNamesOf(row).filter((name) => !change.has(name));
}

function removalErrors(row: HeaderColumns, change: HeaderChange): FieldErrors {
  const names = headerNamesOf(row);
  const there = names.length === 0 ? "It has none" : `It has: ${names.join(", ")}`;
  const missing = [...change].filter(([name, value]) => value === null && !names.includes(name));
  return Object.fromEntries(
    missing.map(([name]) => [
      `headers.${name}`,
      [`The headers.${name} field names no header of this subscription. ${there}.`],
    ]),
  );
}
