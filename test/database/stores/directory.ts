import type { Transaction } from "../../../src/database/database.ts";
import { groupResourceType, userResourceType } from "../../../src/scim/protocol/attributes.ts";
import { parametersOfBody } from "../../../src/scim/protocol/parameters.ts";
import { queryOf } from "../../../src/scim/protocol/query.ts";
import * as directoryFilter from "../../../src/scim/protocol/store.ts";
import * as groups from "../../../src/scim/groups/store.ts";
import * as people from "../../../src/scim/users/store.ts";
import { at, type StoreCalls, teamId } from "./rows.ts";

const peopleWhere = (parameters: object) => (tx: Transaction) =>
  people.selectPeople(tx, teamId, queryOf(userResourceType, parametersOfBody(parameters)));

const groupsWhere = (parameters: object) => (tx: Transaction) =>
  groups.selectGroups(tx, teamId, queryOf(groupResourceType, parametersOfBody(parameters)));

const operators = ["eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le"];
const texts = ["userName", "externalId", "displayName", "name.familyName", "emails", "roles"];
const values = ["", "ANN", "ünal", "_", "example.COM"];

const filters = [
  ...texts.flatMap((path) => operators.flatMap((op) => values.map((value) => `${path} ${op} "${value}"`))),
  ...[...texts, "active", "meta.created"].map((path) => `${path} pr`),
  ...texts.map((path) => `not (${path} pr)`),
  ...["eq", "ne", "co", "sw", "ew"].map((op) => String.raw`userName ${op} "A\u0000"`),
  "externalId eq null",
  "active eq true",
  "active ne true",
  "emails.primary eq true",
  "roles.primary eq true",
  'emails[type eq "WORK"].value eq "ann@example.com"',
  'not (emails[value co "HOME"] or userName sw "A")',
  'meta.created ge "2020-01-01T00:00:00Z" and meta.lastModified lt "2100-01-01T00:00:00Z"',
  'id eq "u-Ann"',
];

const orders = [
  "userName",
  "externalId",
  "displayName",
  "name.givenName",
  "name",
  "emails",
  "active",
  "meta.created",
  "id",
].flatMap((sortBy) => [{ sortBy }, { sortBy, sortOrder: "descending" }, { sortBy, startIndex: 2, count: 2 }]);

const counted = 'userName co "N" and active eq true';

/** The stores of the company directory. */
export const directoryStores: Record<string, StoreCalls> = {
  "scim/protocol/store.ts": {
    module: directoryFilter,
    calls: { conditionOf: filters.map((filter) => peopleWhere({ filter })) },
  },
  "scim/users/store.ts": {
    module: people,
    calls: {
      selectPeople: orders.map(peopleWhere),
      countPeople: [
        (tx) =>
          people.countPeople(tx, teamId, queryOf(userResourceType, parametersOfBody({ filter: counted }))),
      ],
      selectPerson: ["u-Ann", "u-Bot", "u-Gone"].map((id) => (tx) => people.selectPerson(tx, teamId, id)),
      selectPeopleOf: [(tx) => people.selectPeopleOf(tx, teamId, ["u-Ann", "u-ben", "u-Bot"])],
      selectRemoved: ["GONE", "ann"].map((name) => (tx) => people.selectRemoved(tx, teamId, name)),
      selectEmails: [(tx) => people.selectEmails(tx, ["u-Ann", "u-ben"])],
      updatePerson: [(tx) => people.updatePerson(tx, "u-_cy", { givenName: "Cy", updatedAt: at + 5 })],
    },
  },
  "scim/groups/store.ts": {
    module: groups,
    calls: {
      selectGroups: [
        ...["displayName", "externalId", "meta.created"].flatMap((sortBy) => [
          groupsWhere({ sortBy }),
          groupsWhere({ sortBy, sortOrder: "descending" }),
        ]),
        ...['displayName eq "ZOO"', 'displayName co "ö"', 'externalId eq "z"', 'members eq "u-Ann"'].map(
          (filter) => groupsWhere({ filter }),
        ),
      ],
      countGroups: [(tx) => groups.countGroups(tx, teamId, queryOf(groupResourceType, parametersOfBody({})))],
      selectGroupMembers: [(tx) => groups.selectGroupMembers(tx, ["c-Zoo", "c-apes"], 5)],
      selectPeopleIn: [
        (tx) => groups.selectPeopleIn(tx, "c-Zoo"),
        (tx) => groups.selectPeopleIn(tx, "c-Zoo", ["u-ben", "u-Bot"]),
      ],
      updateGroup: [(tx) => groups.updateGroup(tx, "c-Zoo", { externalId: null, updatedAt: at })],
    },
  },
};
