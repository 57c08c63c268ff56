import type { Connection } from "../database/database.ts";
import { selectAttemptAsOf, selectLatestAttempts } from "../deliveries/attempt-store.ts";
import { selectSubscriptions, type SubscriptionRow } from "../subscriptions/store.ts";
import type { Alert, Said } from "./alert.ts";
import { certificateAlert } from "./certificate-alerts.ts";
import type { AlertChannelRow, SaidRow } from "./store.ts";

/** A subscription that fails for this long is told of, in milliseconds. */
const failingMs = 10 * 60_000;

/**
 * A subscription that worked again and fails once more is not told of for this long, in milliseconds. So one that fails
 * because of the messages about it cannot keep itself going.
 */
const restMs = 24 * 60 * 60_000;

/**
 * What there is to say about the team's subscriptions at the time `now`, in milliseconds since 1970. Their names and
 * ids are said, never their URLs, which may hold secrets.
 */
export async function webhookAlerts(
  db: Connection,
  { teamId, setAt }: AlertChannelRow,
  said: ReadonlyMap<string, SaidRow>,
  now: number,
): Promise<Alert[]> {
  const found: Alert[] = [];
  for (const row of await selectSubscriptions(db, teamId)) {
    const about = `webhook:${row.id}`;
    const before = said.get(about);
    const alert =
      disabledAlert(row, before, setAt) ??
      worksAlert(row, before) ??
      (await failingAlert(db, row, before, now));
    if (alert) found.push({ about, ...alert });
    const ofCertificate = certificateAlert(row, said, now);
    if (ofCertificate) found.push(ofCertificate);
  }
  return found;
}

type Change = Pick<Alert, "state" | "body"> | undefined;

/** What was disabled before the team asked to be told is known to those who asked. */
function disabledAlert(row: SubscriptionRow, said: Said, setAt: number): Change {
  const at = row.status === "disabled" ? (row.disabledAt ?? 0) : undefined;
  if (at === undefined || at < setAt || (said?.state === "disabled" && said.at >= at)) return undefined;
  const failures = row.consecutiveFailures;
  const why =
    failures > 0 ? ` after ${failures} failed ${failures === 1 ? "attempt" : "attempts"} in a row` : "";
  const body =
    `The webhook “${row.name}” was disabled${why}. Its events wait until it is enabled: ` +
    `parley webhooks enable ${row.id}`;
  return { state: "disabled", body };
}

function worksAlert(row: SubscriptionRow, said: Said): Change {
  if (row.status !== "active" || row.consecutiveFailures > 0) return undefined;
  if (!said || said.state === "works" || (row.lastSuccessAt ?? 0) < said.at) return undefined;
  return { state: "works", body: `The webhook “${row.name}” works again.` };
}

/** Every attempt has failed for ten minutes if the last one as of then had, and none has succeeded since. */
async function failingAlert(db: Connection, row: SubscriptionRow, said: Said, now: number): Promise<Change> {
  if (row.status !== "active" || row.consecutiveFailures === 0 || said?.state === "failing") return undefined;
  if (said?.state === "works" && now - said.at < restMs) return undefined;
  const attempt = selectAttemptAsOf(db, row.id, now - failingMs);
  if (!attempt?.hasFailed || attempt.at <= Math.max(row.lastSuccessAt ?? 0, said?.at ?? 0)) return undefined;
  const [latest] = await selectLatestAttempts(db, row.id, 1);
  const why = latest?.error ? `: ${latest.error}` : "";
  const body =
    `The webhook “${row.name}” has failed for more than 10 minutes${why}. ` +
    `What it does: parley webhooks show ${row.id}`;
  return { state: "failing", body };
}
