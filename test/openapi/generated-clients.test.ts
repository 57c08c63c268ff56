import { describe, expect, test } from "bun:test";
import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openApiDocument } from "../../src/openapi/openapi.ts";
import type { Schema } from "../../src/openapi/document.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const document = await openApiDocument();
const { schemas } = document.components;

/** Has to compile, each line under a `@ts-expect-error` excepted. */
const client = `
import type { paths } from "./api.ts";

type Body<Path extends keyof paths> = paths[Path] extends {
  post: { requestBody: { content: { "application/json": infer Sent } } };
}
  ? Sent
  : never;

export const message: Body<"/api/v1/channels/{channel}/messages"> = { body: "x" };
export const channel: Body<"/api/v1/channels"> = { name: "x", visibility: "public" };
export const member: Body<"/api/v1/channels/{channel}/members"> = { user_id: "x" };
export const subscription: Body<"/api/v1/webhooks"> = { name: "x", url: "x", events: ["message.created"] };
export const incoming: Body<"/webhooks/incoming/{token}"> = { text: "x" };
// @ts-expect-error A message has a body.
export const nothing: Body<"/api/v1/channels/{channel}/messages"> = {};
`;

describe("a client that is generated from the document", () => {
  test("by openapi-typescript sends the required fields and no others", async () => {
    using folder = temporaryFolder();
    const packages = join(import.meta.dir, "generated-client");
    for (const name of ["package.json", "bun.lock"]) {
      copyFileSync(join(packages, name), join(folder.path, name));
    }
    writeFileSync(join(folder.path, "document.json"), JSON.stringify(document));
    writeFileSync(join(folder.path, "client.ts"), client);
    await run(folder.path, "install", "--frozen-lockfile");
    await run(folder.path, "node_modules/openapi-typescript/bin/cli.js", "document.json", "-o", "api.ts");
    const strict = ["--noEmit", "--strict", "--allowImportingTsExtensions"];
    await run(folder.path, "node_modules/typescript/bin/tsc", ...strict, "client.ts");
  }, 60_000);

  test("in Go has no type named like the constructor of another type", () => {
    const makers = Object.keys(schemas).map((name) => `New${name}`);
    expect(Object.keys(schemas).filter((name) => makers.includes(name))).toEqual([]);
  });

  test("may leave out fields with a default, which generators treat as required", () => {
    const withDefault = Object.entries(schemas).flatMap(([name, { properties = {} }]) =>
      Object.entries(properties as Record<string, Schema>)
        .filter(([, property]) => "default" in property)
        .map(([property]) => `${name}.${property}`),
    );
    expect(withDefault).toEqual([]);
  });
});

/** Runs a script with this Bun. @throws Error with what it said when it fails. */
async function run(cwd: string, ...command: string[]): Promise<void> {
  const child = Bun.spawn([process.execPath, ...command], { cwd, stdout: "pipe", stderr: "pipe" });
  const [said, complaint, status] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ]);
  if (status !== 0) throw new Error(`${command.join(" ")}: ${said}${complaint}`);
}
