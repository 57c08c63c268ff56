import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Group, type List, type Refusal, type User } from "../support/scim-client.ts";
import { type ScimStage, startScimStage } from "../support/scim-stage.ts";

let stage: ScimStage;
let ann: User;
let group: Group;

beforeAll(async () => {
  stage = await startScimStage();
  ann = await stage.user("ann@example.com", {
    externalId: "A-1",
    displayName: "Ann 100%",
    name: { givenName: "Ann", familyName: "O'Neil" },
    emails: [
      { value: "ann@example.com", type: "work", primary: true },
      { value: "ann@home.example", type: "home" },
    ],
    roles: ["admin"],
  });
  await stage.user("ben_b@example.com", {
    externalId: "a-1",
    displayName: 'Ben "the \\ slash"',
    name: { givenName: "Ben" },
    emails: [{ value: "ben@home.example", type: "work" }],
    active: false,
  });
  await stage.user("cy@example.org", { displayName: "Ünal" });
  group = await stage.group("Engineering", [ann], { externalId: "G" });
  await stage.group("Sales");
});

afterAll(async () => await stage[Symbol.asyncDispose]());

/** The first names of the people whom the filter finds, in alphabetical order; the owner is `Acme owner`. */
async function found(filter: string): Promise<string[]> {
  const { Resources } = await stage.scim.list("/Users", { filter });
  return Resources.map(({ userName }) => userName.split(/[@_ ]/)[0] ?? "").toSorted((a, b) =>
    a < b ? -1 : 1,
  );
}

describe("a filter of people finds", () => {
  test.each([
    ['userName eq "ann@example.com"', ["ann"]],
    ['USERNAME EQ "ANN@EXAMPLE.COM"', ["ann"]],
    ['urn:ietf:params:scim:schemas:core:2.0:User:userName eq "ann@example.com"', ["ann"]],
    ["userName eq ann@example.com", ["ann"]],
    ['userName eq "nobody"', []],
    ['userName eq ""', []],
    ['userName ne "ann@example.com"', ["Acme", "ben", "cy"]],
    ['userName co "EXAMPLE.com"', ["ann", "ben"]],
    ['userName sw "ANN"', ["ann"]],
    ['userName ew ".ORG"', ["cy"]],
    ['userName co "%"', []],
    ['userName co "_"', ["ben"]],
    ['userName co ""', ["Acme", "ann", "ben", "cy"]],
    ['userName ew ""', ["Acme", "ann", "ben", "cy"]],
    ['userName gt "ann@example.com"', ["ben", "cy"]],
    ['userName ge "ANN@example.com"', ["ann", "ben", "cy"]],
    ['userName lt "B"', ["Acme", "ann"]],
    ['userName le "ann@example.com"', ["Acme", "ann"]],
    ['externalId eq "A-1"', ["ann"]],
    ['externalId eq "a-1"', ["ben"]],
    ['externalId sw "A"', ["ann"]],
    ['externalId co "-1"', ["ann", "ben"]],
    ["externalId pr", ["ann", "ben"]],
    ["not (externalId pr)", ["Acme", "cy"]],
    ["externalId eq null", ["Acme", "cy"]],
    ["externalId ne null", ["ann", "ben"]],
    ['not (externalId eq "A-1")', ["Acme", "ben", "cy"]],
    ['displayName eq "ann 100%"', ["ann"]],
    ['displayName co "100%"', ["ann"]],
    [String.raw`displayName eq "Ben \"the \\ slash\""`, ["ben"]],
    [String.raw`displayName eq "\u00dcnal"`, ["cy"]],
    ['name.familyName eq "o\'neil"', ["ann"]],
    ["name.givenName pr and not (name.familyName pr)", ["ben"]],
    ["name pr", ["Acme", "ann", "ben"]],
    ["active eq true", ["Acme", "ann", "cy"]],
    ['active eq "False"', ["ben"]],
    ["active ne true", ["ben"]],
    ['emails eq "ANN@home.example"', ["ann"]],
    ['emails.value co "home.example"', ["ann", "ben"]],
    ['emails[type eq "work"].value eq "ann@example.com"', ["ann"]],
    ['emails[type eq "work"].value eq "ann@home.example"', []],
    ['emails[type eq "work" and value co "@home"]', ["ben"]],
    ['emails[not (type eq "work")]', ["ann"]],
    ['emails.type eq "home"', ["ann"]],
    ["emails[primary eq true]", ["ann"]],
    ["emails pr", ["ann", "ben"]],
    ['roles eq "admin"', ["ann"]],
    ['roles[value eq "owner"]', ["Acme"]],
    ['meta.created gt "2020-01-01T00:00:00Z"', ["Acme", "ann", "ben", "cy"]],
    ['meta.lastModified lt "2020-01-01T00:00:00Z"', []],
    ['userName sw "a" and active eq true or userName sw "c"', ["Acme", "ann", "cy"]],
    ['userName sw "a" and (active eq false or userName co "@")', ["ann"]],
    ['  ( (userName eq "ann@example.com") )  ', ["ann"]],
  ])("%s", async (filter, names) => {
    expect(await found(filter)).toEqual(names);
  });

  test("one by id, in any case, and nobody by an invalid id", async () => {
    expect(await found(`id eq "${ann.id}"`)).toEqual(["ann"]);
    expect((await stage.scim.get<User>(`/Users/${ann.id.toUpperCase()}`)).json.id).toBe(ann.id);
    expect(await found('id eq "1 OR 1"')).toEqual([]);
  });
});

describe("a filter of groups finds", () => {
  test.each([
    ['displayName eq "engineering"', ["Engineering"]],
    ['displayName sw "S"', ["Sales"]],
    ['externalId eq "G"', ["Engineering"]],
    ['externalId eq "g"', []],
    ["externalId pr or displayName pr", ["Engineering", "Sales"]],
    ['meta.lastModified gt "2020-01-01T00:00:00+02:00"', ["Engineering", "Sales"]],
  ])("%s", async (filter, names) => {
    const { Resources } = await stage.scim.list<Group>("/Groups", { filter, sortBy: "displayName" });
    expect(Resources.map(({ displayName }) => displayName)).toEqual(names);
  });

  test("those of a member", async () => {
    for (const filter of [
      `members eq "${ann.id}"`,
      `members.value eq "${ann.id}"`,
      `members[value eq "${ann.id}"]`,
    ]) {
      const { Resources } = await stage.scim.list<Group>("/Groups", { filter });
      expect(
        Resources.map(({ id }) => id),
        filter,
      ).toEqual([group.id]);
    }
  });
});

describe("a filter is refused, and never matches everybody,", () => {
  test.each([
    ["an unknown attribute", 'nickName eq "x"'],
    ["an unknown part", 'name.middleName eq "x"'],
    ["an attribute of groups", 'members eq "x"'],
    ["a foreign schema", 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department eq "x"'],
    ["what all objects have", 'constructor eq "x"'],
    ["their prototype", '__proto__ eq "x"'],
    ["its part", "name.__proto__ pr"],
    ["an unknown operator", 'userName is "x"'],
    ["no operator", "userName"],
    ["no value", "userName eq"],
    ["half a condition", 'userName eq "a" and'],
    ["a number for an attribute", 'userName eq "a" or 1 eq 1'],
    ["a word after the end", 'userName eq "a" userName eq "b"'],
    ["a word that joins nothing", 'userName eq "a" constructor userName eq "b"'],
    ["a quotation mark that is never closed", 'userName eq "a'],
    ["a text that is not JSON", String.raw`userName eq "\x"`],
    ["a bracket that is never closed", '(userName eq "a"'],
    ["a bracket that was never opened", 'userName eq "a")'],
    ["a bracket for a value", "userName eq ("],
    ["brackets behind what is no list", 'userName[value eq "x"]'],
    ["a list in a list", 'emails[emails[type eq "x"]]'],
    ["not without brackets", 'not userName eq "a"'],
    ["a whole for its parts", 'name eq "x"'],
    ["a time that is none", 'meta.created gt "yesterday"'],
    ["a time that contains", 'meta.created co "2020"'],
    ["a truth that is none", 'active eq "perhaps"'],
    ["a truth that is greater", "active gt true"],
    ["nothing that is less", "externalId lt null"],
    ["what is not kept", 'meta.location eq "x"'],
    ["blanks", "   "],
  ])("%s", async (_, filter) => {
    const { status, json } = await stage.scim.get<Refusal>(`/Users?filter=${encodeURIComponent(filter)}`);
    expect({ status, scimType: json.scimType }).toEqual({ status: 400, scimType: "invalidFilter" });
  });

  test("of groups by the name of a member", async () => {
    const filter = encodeURIComponent('members[display eq "Ann"]');
    const { status, json } = await stage.scim.get<Refusal>(`/Groups?filter=${filter}`);
    expect({ status, scimType: json.scimType }).toEqual({ status: 400, scimType: "invalidFilter" });
  });
});

describe("a search", () => {
  test("is a list whose parameters are in the body", async () => {
    const body = {
      schemas: ["urn:ietf:params:scim:api:messages:2.0:SearchRequest"],
      filter: 'userName ew "example.com"',
      attributes: ["userName"],
      sortBy: "userName",
      sortOrder: "descending",
      startIndex: 1,
      count: 10,
    };
    const { status, json } = await stage.scim.post<List<User>>("/Users/.search", body);
    expect(status).toBe(200);
    expect(json.Resources.map(({ userName }) => userName)).toEqual(["ben_b@example.com", "ann@example.com"]);
    expect(Object.keys(json.Resources[0] ?? {})).toEqual(["schemas", "id", "userName"]);
    const groups = await stage.scim.post<List<Group>>("/Groups/.search", {
      filter: 'displayName eq "Sales"',
    });
    expect(groups.json.totalResults).toBe(1);
  });

  test("of everything finds people and groups, and pages through both as one list", async () => {
    const filter = 'externalId pr or displayName eq "Sales"';
    const whole = await stage.scim.post<List<User>>("/.search", { filter });
    expect(whole.json.Resources.map(({ meta }) => meta.resourceType)).toEqual([
      "User",
      "User",
      "Group",
      "Group",
    ]);
    const ids: string[] = [];
    for (let startIndex = 1; startIndex <= 4; startIndex++) {
      const { json } = await stage.scim.post<List<User>>("/.search", { filter, startIndex, count: 1 });
      expect({ total: json.totalResults, startIndex: json.startIndex }).toEqual({ total: 4, startIndex });
      ids.push(...json.Resources.map(({ id }) => id));
    }
    expect(ids).toEqual(whole.json.Resources.map(({ id }) => id));
  });

  test("of everything leaves out a resource type without an attribute of the filter, and refuses a filter that suits neither", async () => {
    const { json } = await stage.scim.post<List<User>>("/.search", {
      filter: 'userName eq "ann@example.com"',
    });
    expect(json.Resources.map(({ id }) => id)).toEqual([ann.id]);
    const refused = await stage.scim.post<Refusal>("/.search", { filter: 'nickName eq "x"' });
    expect({ status: refused.status, scimType: refused.json.scimType }).toEqual({
      status: 400,
      scimType: "invalidFilter",
    });
  });
});
