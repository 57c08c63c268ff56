import { selectLastPosition } from "../channels/store.ts";
import { getSeenChannel } from "../channels/access.ts";
import type { Connection } from "../database/database.ts";
import type { Subject } from "../subject.ts";
import { checkOf } from "../input/validation.ts";
import { messageResource } from "./resource.ts";
import { type MessagePage, MessagesQuery, messagesPerPage } from "./schemas.ts";
import { selectMessageRange } from "./store.ts";

const checkQuery = checkOf(MessagesQuery);

/**
 * Returns one page of the channel's messages, newest first, tombstones and notices included. A page is a range of
 * positions, so every page costs the same. `path` is the base of the page links.
 * @throws DomainError `not_found` when the subject cannot see the channel; `invalid` on `page`.
 */
export async function listMessages(
  db: Connection,
  subject: Subject,
  channelId: string,
  query: unknown,
  path: string,
): Promise<MessagePage> {
  const { channel } = getSeenChannel(db, subject, channelId);
  const page = Number(checkQuery(query).page ?? 1);
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
