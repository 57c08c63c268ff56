import * as attempts from "../../../src/deliveries/attempt-store.ts";
import * as holds from "../../../src/deliveries/hold-store.ts";
import * as feed from "../../../src/feed/store.ts";
import * as events from "../../../src/outbox/event-store.ts";
import * as fanOuts from "../../../src/outbox/fan-out-store.ts";
import * as jobs from "../../../src/outbox/job-store.ts";
import * as previews from "../../../src/subscriptions/preview-store.ts";
import * as subscriptionSecrets from "../../../src/subscriptions/secret-store.ts";
import * as subscriptions from "../../../src/subscriptions/store.ts";
import { at, type StoreCalls, subscription, teamId } from "./rows.ts";
import { searchStores } from "./searches.ts";

const event = {
  id: "e-1",
  type: "message.created" as const,
  data: '{"channel_id":"c-General"}',
  createdAt: at,
  traceparent: null,
};

const attempt = {
  id: "a-1",
  subscriptionId: "s-1",
  eventId: "e-1",
  eventType: "message.created" as const,
  succeeded: false,
  isReplay: true,
  responseStatus: 500,
  responseStart: Buffer.from([0, 255]),
  error: "the receiver answered 500",
  durationMs: 12,
  createdAt: at,
  eventSeq: 1,
};

const fanOut = {
  teamId,
  eventSeq: 2,
  type: "message.created",
  happenedAt: at,
  channelId: "c-General",
  afterChannel: "",
  afterSubscription: "",
};

const job = { subscriptionId: "s-1", dueAt: at, eventSeq: 1 };

/** The stores of subscriptions, of the queue and of the delivery log. */
export const deliveryStores: Record<string, StoreCalls> = {
  "subscriptions/store.ts": {
    module: subscriptions,
    calls: {
      insertSubscription: [
        subscription("s-1", {
          consecutiveFailures: 3,
          previousSecret: Buffer.from([9]),
          previousSecretUntil: at,
          headers: Buffer.from([0, 7]),
          headerNames: "a-b x_c",
        }),
        subscription("s-2", { status: "disabled", disabledAt: at }),
        subscription("s-3", { deletedAt: at, lastSuccessAt: at }),
        subscription("s-4", { createdBy: "human:u-ben", channelIds: '["c-General"]' }),
        subscription("s-5", { deletedAt: at }),
      ].map((row) => (tx) => subscriptions.insertSubscription(tx, row)),
      replaceFilters: [
        { id: "s-1", eventTypes: ["message.created", "message.deleted"], channelIds: null, after: 0 },
        { id: "s-4", eventTypes: ["message.created"], channelIds: ["c-General", "c-Zoo"], after: 1, url: "" },
        { id: "s-2", eventTypes: ["message.created"], channelIds: null, after: 0 },
      ].map(
        ({ id, eventTypes, channelIds, after, url = "https://receiver.example/" }) =>
          (tx) =>
            subscriptions.replaceFilters(tx, { id, teamId, url }, eventTypes, channelIds, after),
      ),
      updateCertificate: [(tx) => subscriptions.updateCertificate(tx, subscription("s-1"), at)],
      updateFilters: [(tx) => subscriptions.updateFilters(tx, "s-2", 1)],
      deleteFilters: [(tx) => subscriptions.deleteFilters(tx, "s-5")],
      selectSubscription: [
        (tx) => subscriptions.selectSubscription(tx, teamId, "s-1"),
        (tx) => subscriptions.selectSubscription(tx, teamId, "s-3"),
      ],
      selectDestination: ["s-1", "s-2"].map((id) => (tx) => subscriptions.selectDestination(tx, id)),
      selectDeliveryRecord: ["s-1", "s-3", "s-9"].map(
        (id) => (tx) => subscriptions.selectDeliveryRecord(tx, id),
      ),
      selectSubscriptions: [(tx) => subscriptions.selectSubscriptions(tx, teamId)],
      selectSubscriptionsOfCreator: [
        (tx) => subscriptions.selectSubscriptionsOfCreator(tx, "human:u-Ann", "active"),
      ],
      hasSubscriptions: [3, 4].map((count) => (tx) => subscriptions.hasSubscriptions(tx, teamId, count)),
      selectSubscriptionStates: [
        (tx) => jobs.enqueue(tx, { subscriptionId: "s-3", dueAt: at, eventSeq: 1 }),
        (tx) => subscriptions.selectSubscriptionStates(tx, "", 10),
      ],
      selectSubscriptionIdsWithWork: [(tx) => subscriptions.selectSubscriptionIdsWithWork(tx)],
      selectDeletedSubscriptionIds: [(tx) => subscriptions.selectDeletedSubscriptionIds(tx)],
      selectDisabledSubscriptionIds: [(tx) => subscriptions.selectDisabledSubscriptionIds(tx)],
      selectForgottenSubscriptionIds: [(tx) => subscriptions.selectForgottenSubscriptionIds(tx, at + 1, 10)],
      deleteSubscriptions: [(tx) => subscriptions.deleteSubscriptions(tx, ["s-5"])],
      updateSubscription: [
        (tx) => subscriptions.updateSubscription(tx, "s-4", { name: "CD", previousSecret: Buffer.from([3]) }),
      ],
      selectStreakOfActive: ["s-1", "s-2", "s-3", "s-9"].map(
        (id) => (tx) => subscriptions.selectStreakOfActive(tx, id),
      ),
      selectSubscriptionById: ["s-3", "s-9"].map(
        (id) => (tx) => subscriptions.selectSubscriptionById(tx, id),
      ),
      disableSubscriptionsOfCreator: [
        (tx) => subscriptions.disableSubscriptionsOfCreator(tx, "human:u-ben", at),
      ],
    },
  },
  "subscriptions/preview-store.ts": {
    module: previews,
    calls: {
      selectNewestMessages: ["", "m-2", "z"].map(
        (from) => (tx) => previews.selectNewestMessages(tx, from, 1),
      ),
    },
  },
  "subscriptions/secret-store.ts": {
    module: subscriptionSecrets,
    calls: {
      selectSubscriptionSecrets: [(tx) => subscriptionSecrets.selectSubscriptionSecrets(tx)],
      selectSealedSubscriptions: [(tx) => subscriptionSecrets.selectSealedSubscriptions(tx, "s-1", 2)],
    },
  },
  "outbox/event-store.ts": {
    module: events,
    calls: {
      selectMatchingSubscriptions: [
        (tx) => events.selectMatchingSubscriptions(tx, teamId, "message.created", "c-General"),
      ],
      insertEvent: ["e-1", "e-2", "e-3", "e-4"].map(
        (id, nth) => (tx) => events.insertEvent(tx, { ...event, id, createdAt: at + nth }),
      ),
      selectEvent: [1, 9, null].map((seq) => (tx) => events.selectEvent(tx, seq)),
      selectEventSeqs: [
        (tx) => events.selectEventSeqs(tx, { after: 0, limit: 2 }),
        (tx) => events.selectEventSeqs(tx, { after: 0, last: 1, limit: 2 }),
      ],
      selectEventsBefore: [(tx) => events.selectEventsBefore(tx, [1, 2, 3], at + 2)],
      selectLastEventSeq: [(tx) => events.selectLastEventSeq(tx)],
      selectNewestEventTime: [(tx) => events.selectNewestEventTime(tx)],
      selectEventTime: [1, 9].map((seq) => (tx) => events.selectEventTime(tx, seq)),
      deleteEvents: [(tx) => events.deleteEvents(tx, [3])],
      selectCreator: [(tx) => events.selectCreator(tx, "s-1"), (tx) => events.selectCreator(tx, "s-9")],
    },
  },
  "feed/store.ts": {
    module: feed,
    calls: {
      selectNextEvents: ["s-1", "s-9"].map(
        (id) => (tx) => feed.selectNextEvents(tx, id, { after: 0, last: 9, limit: 2 }),
      ),
      selectWhereabouts: [1, 3, 9].map((seq) => (tx) => feed.selectWhereabouts(tx, seq)),
    },
  },
  "outbox/job-store.ts": {
    module: jobs,
    calls: {
      enqueue: [1, 2].map((eventSeq) => (tx) => jobs.enqueue(tx, { ...job, eventSeq })),
      selectNextJobs: [(tx) => jobs.selectNextJobs(tx, "s-1", 5)],
      selectNextQueuedJobs: [(tx) => jobs.selectNextQueuedJobs(tx, "s-1", 5)],
      selectQueuedJobsByEvent: [(tx) => jobs.selectQueuedJobsByEvent(tx, "s-1", 5)],
      selectJob: [(tx) => jobs.selectJob(tx, job), (tx) => jobs.selectJob(tx, { ...job, dueAt: 1 })],
      selectWaiting: [(tx) => jobs.selectWaiting(tx, "s-1"), (tx) => jobs.selectWaiting(tx, "s-9")],
      selectFirstWaiting: [(tx) => jobs.selectFirstWaiting(tx, "s-1", 1)],
      selectJobCount: [
        (tx) => jobs.selectJobCount(tx, "s-1", 0, 1),
        (tx) => jobs.selectJobCount(tx, "s-9", 0, 1),
      ],
      selectJobsAfter: [(tx) => jobs.selectJobsAfter(tx, "s-1", { dueAt: at, eventSeq: 0 }, 5)],
      makeJobDue: [
        (tx) => jobs.makeJobDue(tx, "s-1", { dueAt: at, eventSeq: 1, happenedAt: at + 60_000 }),
        (tx) => jobs.makeJobDue(tx, "s-1", { dueAt: at + 60_000, eventSeq: 1, happenedAt: at }),
      ],
      selectJobsBackwards: [
        (tx) => jobs.selectJobsBackwards(tx, jobs.endOfQueue, 5),
        (tx) => jobs.selectJobsBackwards(tx, { ...job, eventSeq: 2 }, 5),
      ],
      deleteJob: [(tx) => jobs.deleteJob(tx, { ...job, eventSeq: 2 })],
      deleteJobsBefore: [
        (tx) => jobs.deleteJobsBefore(tx, "s-1", at, 5),
        (tx) => jobs.deleteJobsBefore(tx, "s-3", at + 1, 5),
      ],
      deleteJobs: [
        (tx) => jobs.deleteJobs(tx, "s-1", 5),
        (tx) => jobs.enqueue(tx, job),
        (tx) => jobs.enqueue(tx, { ...job, eventSeq: 2 }),
      ],
      selectAhead: [(tx) => jobs.selectAhead(tx)],
    },
  },
  "outbox/fan-out-store.ts": {
    module: fanOuts,
    calls: {
      insertFanOut: [
        (tx) => fanOuts.hasAnyFanOut(tx),
        (tx) => fanOuts.insertFanOut(tx, fanOut),
        (tx) => fanOuts.insertFanOut(tx, { ...fanOut, teamId: "team-2", eventSeq: 1 }),
      ],
      hasAnyFanOut: [(tx) => fanOuts.hasAnyFanOut(tx)],
      hasFanOutOfTeam: [teamId, "team-3"].map((id) => (tx) => fanOuts.hasFanOutOfTeam(tx, id)),
      selectFanOut: [(tx) => fanOuts.selectFanOut(tx, teamId)],
      selectNextFanOut: ["", teamId, "team-2"].map((after) => (tx) => fanOuts.selectNextFanOut(tx, after)),
      selectTeamWithFanOut: [0, 1].map((last) => (tx) => fanOuts.selectTeamWithFanOut(tx, last)),
      selectNextSubscriptions: [
        (tx) => fanOuts.selectNextSubscriptions(tx, fanOut, 5),
        (tx) => fanOuts.selectNextSubscriptions(tx, { ...fanOut, afterChannel: "c-General" }, 5),
      ],
      selectStillToQueue: ["s-1", "s-4", "s-9"].map(
        (id) => (tx) => fanOuts.selectStillToQueue(tx, teamId, id),
      ),
      updateFanOut: [
        (tx) => fanOuts.updateFanOut(tx, { ...fanOut, afterSubscription: "s-1" }),
        (tx) => fanOuts.selectStillToQueue(tx, teamId, "s-1"),
      ],
      selectFanOutsAfter: [(tx) => fanOuts.selectFanOutsAfter(tx, fanOuts.beforeFanOuts, 5)],
      deleteFanOut: [(tx) => fanOuts.deleteFanOut(tx, fanOut)],
    },
  },
  "deliveries/attempt-store.ts": {
    module: attempts,
    calls: {
      insertAttempt: [
        (tx) => attempts.selectNewestAttemptTime(tx),
        (tx) => attempts.selectAttemptsLogged(tx),
        (tx) => attempts.insertAttempt(tx, attempt),
        (tx) =>
          attempts.insertAttempt(tx, {
            ...attempt,
            id: "a-2",
            succeeded: true,
            error: null,
            createdAt: at + 1,
          }),
        (tx) =>
          attempts.insertAttempt(tx, {
            ...attempt,
            id: "a-3",
            eventSeq: null,
            createdAt: at + 2,
            responseStart: null,
          }),
      ],
      isLogged: ["a-2", "a-9"].map((id) => (tx) => attempts.isLogged(tx, id)),
      selectAttemptsOf: [9, 2].map(
        (before) => (tx) => attempts.selectAttemptsOf(tx, "s-1", { before, limit: 2 }),
      ),
      selectLatestAttempts: [(tx) => attempts.selectLatestAttempts(tx, "s-1", 2)],
      selectAttemptAsOf: [0, at + 9].map((time) => (tx) => attempts.selectAttemptAsOf(tx, "s-1", time)),
      selectAttempt: [
        (tx) => attempts.selectAttempt(tx, teamId, "a-1"),
        (tx) => attempts.selectAttempt(tx, "team-2", "a-1"),
      ],
      selectNewestAttemptTime: [(tx) => attempts.selectNewestAttemptTime(tx)],
      selectLoggedEvents: [(tx) => attempts.selectLoggedEvents(tx, [1, 2])],
      deleteAttemptsBefore: [(tx) => attempts.deleteAttemptsBefore(tx, at + 2, 1)],
      selectAttemptsLogged: [(tx) => attempts.selectAttemptsLogged(tx)],
    },
  },
  ...searchStores,
  "deliveries/hold-store.ts": {
    module: holds,
    calls: {
      selectCopy: [(tx) => holds.selectCopy(tx)],
      updateCopy: [
        (tx) => holds.updateCopy(tx, { copyId: "copy", accepted: "[]" }),
        (tx) => holds.selectCopy(tx),
      ],
      insertHold: [
        (tx) =>
          holds.insertHold(tx, {
            since: at,
            kind: "older_copy",
            reason: "older",
            lastEvent: 2,
            markers: "[]",
          }),
      ],
      selectHold: [(tx) => holds.selectHold(tx)],
      selectHeld: [(tx) => holds.selectHeld(tx, 2)],
      selectHeldEvents: [(tx) => holds.selectHeldEvents(tx, "s-1", { lastEvent: 2, limit: 1 })],
      insertHoldException: ["s-1", "s-1"].map((id) => (tx) => holds.insertHoldException(tx, id)),
      selectHoldExceptions: [(tx) => holds.selectHoldExceptions(tx), (tx) => holds.selectHeld(tx, 2)],
      deleteHeldJobs: [(tx) => holds.deleteHeldJobs(tx, "s-1", 1, 5)],
      hasWork: [(tx) => holds.hasWork(tx)],
      selectLastAttempt: [
        (tx) => holds.selectLastAttempt(tx),
        (tx) => attempts.deleteAttemptsBefore(tx, at + 9, 5),
        (tx) => holds.selectLastAttempt(tx),
      ],
      selectLastEvent: [(tx) => holds.selectLastEvent(tx)],
      deleteHold: [(tx) => holds.deleteHold(tx), (tx) => holds.selectHold(tx)],
      selectTeamIds: [(tx) => holds.selectTeamIds(tx)],
    },
  },
};
