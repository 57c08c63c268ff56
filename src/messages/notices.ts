import type { ChannelRow } from "../channels/store.ts";
import type { Transaction } from "../database/database.ts";
import { appendMessage } from "./append.ts";
import type { Author } from "./store.ts";

/** Posts the system notice that a user joined or left: authored by that user, with an empty body. */
export async function addNotice(
  tx: Transaction,
  channel: ChannelRow,
  user: Author,
  type: "member_joined" | "member_left",
): Promise<void> {
  appendMessage(tx, channel, user, { type, body: "" });
}
