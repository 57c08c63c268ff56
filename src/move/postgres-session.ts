import { openConnections } from "../database/postgres/connections.ts";
import { causeOf } from "../database/postgres/errors.ts";
import { migratePostgres } from "../database/postgres/migrate.ts";
import type { Session } from "../database/postgres/session.ts";
import { DomainError } from "../errors.ts";

/** A connection of a move's own, without limits of time. Errors of the database are DomainErrors that name it. */
export type MoveSession = Pick<Session, "query" | "script">;

/**
 * Connects to the database of the URL, which is shown as `place`. `migrate` makes its tables those of this version.
 * @throws DomainError `unavailable` when it cannot be reached or refuses.
 */
export async function openSession(
  url: string,
  place: string,
): Promise<AsyncDisposable & { session: MoveSession; migrate: () => Promise<void> }> {
  const connections = openConnections(url);
  const explained = (error: unknown): never => {
    throw explain(error, place);
  };
  try {
    const session = await connections.session({ unlimited: true });
    return {
      session: {
        query: (text, parameters) => session.query(text, parameters).catch(explained),
        script: (text) => session.script(text).catch(explained),
      },
      migrate: async () => void (await migratePostgres(connections).catch(explained)),
      async [Symbol.asyncDispose]() {
        session.close();
        await connections.close();
      },
    };
  } catch (error) {
    await connections.close();
    return explained(error);
  }
}

/** The DomainError for an error of the database that is shown as `place`; any other error unchanged. */
function explain(error: unknown, place: string): unknown {
  const cause = causeOf(error);
  if (cause === undefined || !(error instanceof Error)) return error;
  return new DomainError(
    "unavailable",
    `${cause}: ${place} (${error.message.replace(/\.$/, "")}). The workspace is where it was. Mend that, then go on with ` +
      "the same command.",
    { cause: error },
  );
}
