import { selectLastPosition } from "../channels/store.ts";
import { getSeenChannel } from "../channels/access.ts";
import type { Connection } from "../database/database.ts";
import type { Subject } from "../subject.ts";
import { invalid } from "../errors.ts";
import { checkOf } from "../input/validation.ts";
import { messageResource } from "./resource.ts";
import { type MessagePage, MessagesQuery, messagesPerPage } from "./schemas.ts";
import { selectMessageRange, selectPosition } from "./store.ts";

const checkQuery = checkOf(MessagesQuery);

/**
 * Returns one page of the channel's messages, newest first, tombstones and notices included; with `after` those after
 * that message, oldest first. A page is a range of positions, so every page costs the same. `path` is the base of the
 * page links.
 * @throws DomainError `not_found` when the subject cannot see the channel; `invalid` on `page` or `after`.
 */
export async function listMessages(
  db: Connection,
  subject: Subject,
  channelId: string,
  query: unknown,
  path: string,
): Promise<MessagePage> {
  const { channel } = getSeenChannel(db, subject, channelId);
  const asked = checkQuery(query);
  if (asked.after !== undefined) {
    if (asked.page !== undefined) throw invalid({ after: ["The after field cannot be used with page."] });
    return messagesAfter(db, channel.id, asked.after.toLowerCase(), path);
  }
  const page = Number(asked.page ?? 1);
  const total = selectLastPosition(db, channel.id);
  const newest = total - (page - 1) * messagesPerPage;
  const oldest = Math.max(1, newest - messagesPerPage + 1);
  const rows = newest < 1 ? [] : selectMessageRange(db, channel.id, oldest, newest);

  const lastPage = Math.max(1, Math.ceil(total / messagesPerPage));
  const linkTo = (number: number) => `${path}?page=${number}`;
  const isEmpty = rows.length === 0;
  return {
    data: rows.map(({ message, author }) => messageResource(message, author)),
    links: {
      first: linkTo(1),
      last: linkTo(lastPage),
      prev: page > 1 ? linkTo(page - 1) : null,
      next: page < lastPage ? linkTo(page + 1) : null,
    },
    meta: {
      current_page: page,
      from: isEmpty ? null : total - newest + 1,
      last_page: lastPage,
      path,
      per_page: messagesPerPage,
      to: isEmpty ? null : total - oldest + 1,
      total,
    },
  };
}

/** The first page of the messages after the given one, oldest first. The next page is after the last message of this one. */
function messagesAfter(db: Connection, channelId: string, after: string, path: string): MessagePage {
  const position = selectPosition(db, channelId, after);
  if (position === undefined)
    throw invalid({ after: ["The after field must be the id of a message of this channel."] });
  const total = selectLastPosition(db, channelId) - position;
  const last = position + Math.min(total, messagesPerPage);
  const rows = total === 0 ? [] : selectMessageRange(db, channelId, position + 1, last).toReversed();
  const data = rows.map(({ message, author }) => messageResource(message, author));
  const linkTo = (id: string) => `${path}?after=${id}`;
  const next = total > data.length ? data.at(-1) : undefined;
  const isEmpty = data.length === 0;
  return {
    data,
    links: { first: linkTo(after), last: null, prev: null, next: next ? linkTo(next.id) : null },
    meta: {
      current_page: 1,
      from: isEmpty ? null : 1,
      last_page: Math.max(1, Math.ceil(total / messagesPerPage)),
      path,
      per_page: messagesPerPage,
      to: isEmpty ? null : data.length,
      total,
    },
  };
}
