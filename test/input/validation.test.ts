import { describe, expect, test } from "bun:test";
import { type TSchema, Type } from "@sinclair/typebox";
import { DomainError, invalid } from "../../src/errors.ts";
import { UnreadableBody } from "../../src/input/json.ts";
import { checkOf, Nullable, OneOf, PageNumber, Text, Uuid } from "../../src/input/validation.ts";

/** The `errors` of the rejected input, or undefined when it is accepted. */
function errorsOf(check: (input: unknown) => unknown, input: unknown): Record<string, string[]> | undefined {
  try {
    check(input);
    return undefined;
  } catch (error) {
    expect(error).toBeInstanceOf(DomainError);
    expect((error as DomainError).code).toBe("invalid");
    return (error as DomainError).errors;
  }
}

/** The check of an object with a single field called `field`. */
function checkOfField(schema: TSchema): (value: unknown) => Record<string, string[]> | undefined {
  const check = checkOf(Type.Object({ field: schema }));
  return (value) => errorsOf(check, { field: value });
}

const everyOtherType = [null, 1, 1.5, true, [], ["x"], {}];

describe("an input", () => {
  const check = checkOf(
    Type.Object({ name: Text({ maxLength: 5 }), topic: Type.Optional(Nullable(Uuid())) }),
  );

  test("is returned with the fields of the schema and no others, absent ones staying absent", () => {
    const input = JSON.parse('{"name": "x", "extra": 1, "__proto__": {"topic": "y"}, "constructor": 2}');
    expect(check(input)).toEqual({ name: "x" });
    expect(Object.keys(check(input))).toEqual(["name"]);
    expect(check({ name: "x", topic: null })).toEqual({ name: "x", topic: null });
  });

  test("is rejected with a message for every invalid field", () => {
    expect(errorsOf(check, { name: 5, topic: "here" })).toEqual({
      name: ["The name field must be a string."],
      topic: ["The topic field must be a uuid."],
    });
    expect(errorsOf(check, {})).toEqual({ name: ["The name field is required."] });
  });

  test.each([[null], [[]], ["name"], [1], [true], [undefined]])(
    "that is %p is rejected as a whole",
    (input) => {
      expect(Object.keys(errorsOf(check, input) ?? {})).toEqual(["body"]);
    },
  );

  test("that could not be read is rejected with the reason", () => {
    const error = invalid({ body: ["The body is not valid JSON."] });
    expect(errorsOf(check, new UnreadableBody(error))).toEqual({ body: ["The body is not valid JSON."] });
  });
});

describe("a text", () => {
  const errors = checkOfField(Text({ maxLength: 3 }));

  test("is measured in code points", () => {
    expect(errors("😀😀😀")).toBeUndefined();
    expect(errors("😀😀😀😀")).toEqual({ field: ["The field field must not be longer than 3 characters."] });
  });

  test.each(everyOtherType.map((value) => [value]))("is not %p", (value) => {
    expect(Object.keys(errors(value) ?? {})).toEqual(["field"]);
  });

  test("must contain neither NUL nor half of a surrogate pair", () => {
    expect(errors("a\0")).toBeDefined();
    expect(errors("\uD83D")).toBeDefined();
  });

  test("is trimmed before it is measured and stored, only if its schema says so", () => {
    const trimmed = checkOf(Type.Object({ body: Text({ maxLength: 3, minLength: 1, isTrimmed: true }) }));
    expect(trimmed({ body: "\u3000\u0085abc\n" })).toEqual({ body: "abc" });
    expect(errorsOf(trimmed, { body: " \u2003 " })).toEqual({ body: ["The body field is required."] });
    const plain = checkOf(Type.Object({ body: Text({ maxLength: 5 }) }));
    expect(plain({ body: " abc " })).toEqual({ body: " abc " });
    expect(errorsOf(plain, { body: "  abc " })).toBeDefined();
  });

  test("that is a name is on one line", () => {
    const name = checkOfField(Text({ maxLength: 10, isName: true }));
    expect(name("two words")).toBeUndefined();
    expect(name("two\nlines")).toBeDefined();
  });
});

describe("a uuid", () => {
  const errors = checkOfField(Uuid());

  test("may be upper or lower case", () => {
    expect(errors("019aa2b0-5a3e-7000-8000-0123456789ab")).toBeUndefined();
    expect(errors("019AA2B0-5A3E-7000-8000-0123456789AB")).toBeUndefined();
  });

  test.each([...everyOtherType, "", "general"].map((value) => [value]))("is not %p", (value) => {
    expect(errors(value)).toEqual({ field: ["The field field must be a uuid."] });
  });
});

describe("an enumerated word", () => {
  const errors = checkOfField(OneOf(["public", "private"]));

  test("must match exactly, and the error lists the words", () => {
    expect(errors("private")).toBeUndefined();
    for (const value of [...everyOtherType, "Public", "", "public ", "toString"]) {
      expect(errors(value)).toEqual({ field: ["The field field must be one of: public, private."] });
    }
  });
});

describe("a page number", () => {
  const errors = checkOfField(PageNumber());

  test.each(["1", "2", "007", "999999999999999"])("is %s", (value) => {
    expect(errors(value)).toBeUndefined();
  });

  test.each(["0", "-1", "+1", "1.0", "1e3", "0x1", "", " 1", "one", "١", "9".repeat(400)])(
    "is not %p",
    (value) => {
      expect(errors(value)).toEqual({
        field: ["The field field must be a whole number from 1 to 999999999999999."],
      });
    },
  );

  test("is not given twice", () => {
    expect(errors(["1", "2"])).toEqual({
      field: ["The field field must be a whole number from 1 to 999999999999999."],
    });
  });
});

describe("a list", () => {
  const check = checkOf(Type.Object({ ids: Type.Array(Uuid(), { minItems: 1 }) }));

  test("is rejected at the invalid item", () => {
    const id = crypto.randomUUID();
    expect(errorsOf(check, { ids: [id, "x", id, 5] })).toEqual({
      "ids.1": ["The ids.1 field must be a uuid."],
      "ids.3": ["The ids.3 field must be a uuid."],
    });
    expect(Object.keys(errorsOf(check, { ids: [] }) ?? {})).toEqual(["ids"]);
    expect(Object.keys(errorsOf(check, { ids: "x" }) ?? {})).toEqual(["ids"]);
  });
});
