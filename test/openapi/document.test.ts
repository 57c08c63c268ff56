import { describe, expect, test } from "bun:test";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import type { Operation, Response } from "../../src/openapi/document.ts";
import { bodiesOf, complaintsAbout, document, responseOf, schemaNamed } from "./strict-document.ts";

/** What parts 4 and 5 of the specification say of each operation: its scope and the status of its success. */
const specified: ReadonlyArray<[operation: string, scope: string | null, success: number]> = [
  ["GET /api/v1/channels", "channels:read", 200],
  ["POST /api/v1/channels", "channels:write", 201],
  ["GET /api/v1/channels/{channel}", "channels:read", 200],
  ["POST /api/v1/channels/{channel}/archive", "channels:write", 200],
  ["GET /api/v1/channels/{channel}/messages", "messages:read", 200],
  ["POST /api/v1/channels/{channel}/messages", "messages:write", 201],
  ["GET /api/v1/channels/{channel}/messages/{message}", "messages:read", 200],
  ["PATCH /api/v1/channels/{channel}/messages/{message}", "messages:write", 200],
  ["DELETE /api/v1/channels/{channel}/messages/{message}", "messages:write", 204],
  ["PUT /api/v1/channels/{channel}/messages/{message}/reactions/{emoji}", "reactions:write", 204],
  ["DELETE /api/v1/channels/{channel}/messages/{message}/reactions/{emoji}", "reactions:write", 204],
  ["GET /api/v1/channels/{channel}/members", "members:read", 200],
  ["POST /api/v1/channels/{channel}/members", "members:write", 201],
  ["DELETE /api/v1/channels/{channel}/members/{user}", "members:write", 204],
  ["GET /api/v1/webhooks", "webhooks:read", 200],
  ["POST /api/v1/webhooks", "webhooks:write", 201],
  ["GET /api/v1/webhooks/{subscription}", "webhooks:read", 200],
  ["DELETE /api/v1/webhooks/{subscription}", "webhooks:write", 204],
  ["POST /webhooks/incoming/{token}", null, 202],
  // Beyond the specification.
  ["PATCH /api/v1/webhooks/{subscription}", "webhooks:write", 200],
  ["GET /api/v1/webhooks/{subscription}/events", "webhooks:write", 200],
  ["GET /api/v1/webhooks/{subscription}/deliveries", "webhooks:read", 200],
];

/** The operations whose body or parameter is validated, so that they may answer 422. */
const takingInput = [
  "POST /api/v1/channels",
  "GET /api/v1/channels/{channel}/messages",
  "POST /api/v1/channels/{channel}/messages",
  "PATCH /api/v1/channels/{channel}/messages/{message}",
  "PUT /api/v1/channels/{channel}/messages/{message}/reactions/{emoji}",
  "POST /api/v1/channels/{channel}/members",
  "POST /api/v1/webhooks",
  "POST /webhooks/incoming/{token}",
  "PATCH /api/v1/webhooks/{subscription}",
  "GET /api/v1/webhooks/{subscription}/events",
  "GET /api/v1/webhooks/{subscription}/deliveries",
];

const operations = new Map<string, Operation>(
  Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(
      ([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const,
    ),
  ),
);
const deliveries = Object.values(document.webhooks).flatMap((item) => Object.values(item));

function getOperation(name: string): Operation {
  const operation = operations.get(name);
  if (!operation) throw new Error(`the document has no ${name}`);
  return operation;
}

describe("the OpenAPI document", () => {
  test("is OpenAPI 3.1.0 and describes version 1.0.0 of the interface", () => {
    expect(document.openapi).toBe("3.1.0");
    expect(document.info.version).toBe("1.0.0");
  });

  test("passes an OpenAPI linter", async () => {
    const config = await createConfig({ extends: ["recommended"] });
    const problems = await lintFromString({
      source: JSON.stringify(document),
      absoluteRef: "/openapi.json",
      config,
    });
    expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual(
      [],
    );
  });

  test("holds plain JSON Schema", () => {
    for (const name of Object.keys(document.components.schemas)) {
      expect(schemaNamed(name), name).toBeFunction();
    }
  });

  test("has no extension key except the required scope", () => {
    const keys = new Set(JSON.stringify(document).match(/"(x-[^"]*|\$id|nullable)"(?=:)/g));
    expect([...keys]).toEqual(['"x-required-scope"']);
  });

  test("names each operation and each group of operations", () => {
    const all = [...operations.values(), ...deliveries];
    expect(new Set(all.map(({ operationId }) => operationId)).size).toBe(all.length);
    const groups = document.tags.map(({ name }) => name);
    expect([...new Set(all.flatMap(({ tags }) => tags))].sort()).toEqual([...groups].sort());
    for (const { operationId, summary, description } of all) {
      expect(operationId).toMatch(/^[a-z]+([A-Z][a-z]*)*$/);
      expect(summary, operationId).toMatch(/\S/);
      expect(description, operationId).toMatch(/\S/);
    }
  });
});

describe("the operations", () => {
  test("are those of the specification and the listed ones beyond it", () => {
    expect([...operations.keys()].sort()).toEqual(specified.map(([operation]) => operation).sort());
  });

  test.each(specified)("%s needs the scope %s and succeeds with %d", (name, scope, success) => {
    const { security, responses, "x-required-scope": required } = getOperation(name);
    expect(required ?? null).toBe(scope);
    expect(security).toEqual(scope === null ? [] : [{ bearer: [scope] }]);
    const successes = Object.keys(responses).filter((status) => status.startsWith("2"));
    expect(successes).toEqual([String(success)]);
    const isEmpty = success === 202 || success === 204;
    expect(responseOf(responses[success] as Response).content === undefined).toBe(isEmpty);
  });

  test("have every error response that the specification lists", () => {
    for (const [name, { responses }] of operations) {
      expect(Object.keys(responses), name).toEqual(
        expect.arrayContaining(["401", "403", "404", "429", "500"]),
      );
    }
    const validating = [...operations].filter(([, { responses }]) => responses[422]).map(([name]) => name);
    expect(validating.sort()).toEqual([...takingInput].sort());
  });

  test("refuse what is too large, or not JSON, where they take a JSON body", () => {
    for (const [name, { requestBody, responses }] of operations) {
      expect("413" in responses, name).toBe(requestBody !== undefined);
      // Incoming webhooks take JSON under any content type.
      const isIncoming = name.startsWith("POST /webhooks/incoming/");
      expect("415" in responses, name).toBe(requestBody !== undefined && !isIncoming);
    }
  });

  test("carry the headers of each status", () => {
    const rateLimit = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];
    for (const [name, { responses, security }] of operations) {
      for (const [status, response] of Object.entries(responses)) {
        const headers = Object.keys(responseOf(response).headers ?? {});
        expect(headers, `${name} ${status}`).toContain("X-Request-Id");
        if (/2..|403|413|422|429/.test(status)) expect(headers).toEqual(expect.arrayContaining(rateLimit));
        expect(headers.includes("Retry-After")).toBe(status === "429" || status === "503");
        if (security.length > 0) expect(headers.includes("WWW-Authenticate")).toBe(status === "401");
      }
    }
  });

  test("describe every parameter of their path, the ids as uuids", () => {
    for (const [name, { parameters }] of operations) {
      const inPath = parameters.flatMap((parameter) => {
        if (!("$ref" in parameter)) return [];
        const shared = document.components.parameters[parameter.$ref.replace("#/components/parameters/", "")];
        return shared ? [shared] : [];
      });
      const named = inPath.map((parameter) => parameter.name);
      expect(named, name).toEqual([...name.matchAll(/\{(\w+)\}/g)].map(([, parameter = ""]) => parameter));
      for (const parameter of inPath) {
        const isId = !["emoji", "token"].includes(parameter.name);
        expect(parameter).toMatchObject({ in: "path", required: true });
        expect(parameter.schema.format).toBe(isId ? "uuid" : undefined);
      }
    }
  });

  test("list messages by page", () => {
    const { parameters } = getOperation("GET /api/v1/channels/{channel}/messages");
    expect(parameters).toContainEqual(
      expect.objectContaining({
        name: "page",
        in: "query",
        required: false,
        schema: { type: "integer", format: "int64", minimum: 1, maximum: 999_999_999_999_999, default: 1 },
      }),
    );
  });

  test("limit the length of an emoji, but not of one to remove: an impossible one matches nothing", () => {
    const { emoji, "removeReaction.emoji": removed } = document.components.parameters;
    expect([emoji?.schema.maxLength, removed?.schema.maxLength]).toEqual([32, undefined]);
  });

  test("take JSON, and incoming webhooks also a form that holds it", () => {
    const json = "application/json";
    for (const [name, operation] of operations) {
      const isIncoming = name.startsWith("POST /webhooks/incoming/");
      const forms = isIncoming ? ["application/x-www-form-urlencoded", "multipart/form-data"] : [];
      const content = operation.requestBody?.content ?? { [json]: {} };
      expect(Object.keys(content), name).toEqual([json, ...forms]);
    }
  });

  test.each([...operations])(
    "%s shows an example of each body that matches its schema",
    (_name, operation) => {
      for (const body of bodiesOf(operation)) {
        expect(body.example).toBeDefined();
        expect(complaintsAbout(body)).toEqual([]);
      }
    },
  );
});

describe("the resources", () => {
  // The fields of the specification's part 2, with those that the decisions add to a message.
  test.each([
    ["Channel", "id name slug visibility topic is_general is_archived is_direct created_at"],
    ["User", "id name type"],
    ["ReactionSummary", "emoji count"],
    [
      "Message",
      "id channel_id body type author reply_to_id thread_root_id reactions created_at edited_at username icon_url sent_to_channel",
    ],
    [
      "WebhookSubscription",
      "id name url events channel_ids header_names status consecutive_failures last_success_at disabled_at created_at",
    ],
    ["WebhookDelivery", "id event_type event_id succeeded response_status error created_at"],
    ["Error", "message"],
    ["ValidationError", "message errors"],
  ])("%s has the fields %s, all of them always", (name, fields) => {
    const schema = document.components.schemas[name];
    expect(Object.keys(schema?.properties ?? {})).toEqual(fields.split(" "));
    expect(schema?.required).toEqual(fields.split(" "));
  });

  test("refer to each other by name", () => {
    const properties = document.components.schemas.Message?.properties;
    expect(properties).toMatchObject({
      author: { $ref: "#/components/schemas/User" },
      reactions: { items: { $ref: "#/components/schemas/ReactionSummary" } },
    });
  });

  test("say null where a field may be null", () => {
    const properties = document.components.schemas.Channel?.properties;
    expect(properties).toMatchObject({
      topic: { type: ["string", "null"] },
      created_at: { type: ["string", "null"], format: "date-time" },
    });
  });
});
