import type { Connection } from "../database/database.ts";
import { DomainError, invalid } from "../errors.ts";
import { markOf, type Place, placeOf, startMark } from "../outbox/cursor.ts";
import type { SubscriptionRow } from "../subscriptions/store.ts";
import { selectWhereabouts } from "./store.ts";

/**
 * Returns the place where reading goes on. Without a cursor it is before the subscription's oldest event that is stored.
 * @throws DomainError `invalid` on `after` when that is no cursor; `gone` when events after it were deleted, or it is of
 *   no event.
 */
export function findPlace(
  db: Connection,
  { afterEvent }: Pick<SubscriptionRow, "afterEvent">,
  cursor: string | undefined,
): Place {
  if (cursor === undefined) {
    const { deletedSeq, deletedId } = selectWhereabouts(db, afterEvent);
    // Some before the newest that was deleted may still be stored, but that place could not be gone on from.
    if (deletedSeq <= afterEvent) return { seq: afterEvent, mark: startMark };
    return { seq: deletedSeq, mark: markOf(deletedId) };
  }
  const place = placeOf(cursor);
  if (!place) throw invalid({ after: ["The after field must be a cursor of an earlier page or delivery."] });
  const { id, deletedSeq, deletedId } = selectWhereabouts(db, place.seq);
  if (place.seq < deletedSeq)
    throw gone("Events after this cursor have been deleted, because they are too old");
  const isOfEvent = (eventId: string | null) => eventId !== null && markOf(eventId) === place.mark;
  const isStart = place.mark === startMark && place.seq === afterEvent;
  const isDeleted = place.seq === deletedSeq && isOfEvent(deletedId);
  if (isStart || isDeleted || isOfEvent(id)) return place;
  throw gone("There is no event with this cursor: the data may have been restored from an older backup");
}

function gone(reason: string): DomainError {
  return new DomainError(
    "gone",
    `${reason}. Leave out \`after\` to go on with the oldest event that is stored, and read what may have been missed ` +
      "from the channels.",
  );
}
