import * as alerts from "../../../src/alerts/store.ts";
import * as accounts from "../../../src/deliveries/account-store.ts";
import * as attemptSearch from "../../../src/deliveries/attempt-search-store.ts";
import * as failures from "../../../src/deliveries/replay-failed-store.ts";
import * as explanations from "../../../src/deliveries/explain-store.ts";
import * as eventSearch from "../../../src/outbox/event-search-store.ts";
import { at, type StoreCalls, teamId } from "./rows.ts";

const alertChannel = { teamId, channelId: "c-General", botId: "u-Ann", setAt: at };
const said = { teamId, about: "webhook:s-1", state: "failing", at };

/** The stores that search the log and the events, and those of alerts, called while there are rows. */
export const searchStores: Record<string, StoreCalls> = {
  "deliveries/attempt-search-store.ts": {
    module: attemptSearch,
    calls: {
      selectAttemptsBack: [undefined, "s-1"].map(
        (subscriptionId) => (tx) =>
          attemptSearch.selectAttemptsBack(tx, { subscriptionId, before: 9, after: 1 }, 5),
      ),
      selectAttemptsOfEvent: [(tx) => attemptSearch.selectAttemptsOfEvent(tx, 1)],
      selectAttemptsOfEvents: [(tx) => attemptSearch.selectAttemptsOfEvents(tx, [1, 2])],
      selectNamesOfSubscriptions: [
        (tx) => attemptSearch.selectNamesOfSubscriptions(tx, teamId, ["s-1", "s-2"]),
        (tx) => attemptSearch.selectNamesOfSubscriptions(tx, "team-2", ["s-1"]),
      ],
      selectAttemptNumberAt: [at - 1, at + 9].map(
        (time) => (tx) => attemptSearch.selectAttemptNumberAt(tx, time),
      ),
      selectAttemptIds: [
        { start: "a-", end: "9" },
        { start: "b", end: "-2" },
      ].map((part) => (tx) => attemptSearch.selectAttemptIds(tx, teamId, part, 5)),
    },
  },
  "deliveries/replay-failed-store.ts": {
    module: failures,
    calls: {
      selectAttemptsForward: [(tx) => failures.selectAttemptsForward(tx, "s-1", { after: 0, upTo: 9 }, 5)],
      selectLastAttempts: [(tx) => failures.selectLastAttempts(tx, "s-1", [1, 2, 99])],
      selectWaitingOf: [(tx) => failures.selectWaitingOf(tx, "s-1", [1, 2, 99])],
      selectNewestAttempt: ["s-1", "s-none"].map((id) => (tx) => failures.selectNewestAttempt(tx, id)),
      enqueueAgain: [at, at].map((dueAt) => (tx) => failures.enqueueAgain(tx, "s-1", dueAt, 1)),
    },
  },
  "deliveries/account-store.ts": {
    module: accounts,
    calls: {
      selectAsking: [(tx) => accounts.selectAsking(tx, teamId, "message.created", "c-General")],
      selectJobPage: [(tx) => accounts.selectJobPage(tx, "s-1", { dueAt: 0, eventSeq: 0 }, 5)],
    },
  },
  "deliveries/explain-store.ts": {
    module: explanations,
    calls: {
      selectAllSubscriptionsOf: [(tx) => explanations.selectAllSubscriptionsOf(tx, teamId)],
      selectJobOf: [1, 99].map((seq) => (tx) => explanations.selectJobOf(tx, "s-1", seq)),
      isFannedOut: [2, 99].map((seq) => (tx) => explanations.isFannedOut(tx, teamId, seq)),
    },
  },
  "outbox/event-search-store.ts": {
    module: eventSearch,
    calls: {
      selectEventFrom: [1, 99].map((seq) => (tx) => eventSearch.selectEventFrom(tx, seq)),
      selectNumberedEvent: [1, 99].map((seq) => (tx) => eventSearch.selectNumberedEvent(tx, seq)),
      selectEventsAfter: [(tx) => eventSearch.selectEventsAfter(tx, 0, 1)],
      selectEventsById: ["e-", "x"].map((start) => (tx) => eventSearch.selectEventsById(tx, 1, 9, start, 5)),
      selectNewestEventsById: ["1", "x"].map(
        (end) => (tx) => eventSearch.selectNewestEventsById(tx, 9, end, 5),
      ),
      selectEventsMentioning: ["hello", "x"].map(
        (text) => (tx) => eventSearch.selectEventsMentioning(tx, 1, 9, text, 5),
      ),
    },
  },
  "alerts/store.ts": {
    module: alerts,
    calls: {
      replaceAlertChannel: [
        (tx) => alerts.replaceAlertChannel(tx, alertChannel),
        (tx) => alerts.replaceAlertChannel(tx, { ...alertChannel, setAt: at + 1 }),
      ],
      selectAlertChannels: [(tx) => alerts.selectAlertChannels(tx)],
      selectAlertChannel: [teamId, "team-2"].map((id) => (tx) => alerts.selectAlertChannel(tx, id)),
      replaceSaid: [
        (tx) => alerts.replaceSaid(tx, said),
        (tx) => alerts.replaceSaid(tx, { ...said, state: "working" }),
      ],
      selectSaid: [async (tx) => [...(await alerts.selectSaid(tx, teamId))]],
      deleteAlertChannel: [
        (tx) => alerts.deleteAlertChannel(tx, teamId),
        async (tx) => [...(await alerts.selectSaid(tx, teamId))],
      ],
    },
  },
};
