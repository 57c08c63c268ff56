import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { rotateSecret } from "../../src/subscriptions/secrets.ts";
import { labelledBlocks } from "../support/documents.ts";
import type { Received } from "../support/receivers/receiver.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { actor } from "../support/workspace.ts";
import { startWebhookStage } from "../support/webhook-stage.ts";

/** How the documented lines of a language become a program in `folder`, and how their library gets there. */
type Language = {
  name: string;
  file: string;
  /** Takes the names of a file with the body and of one with the headers, and the secret. */
  program: (code: string) => string;
  install: (folder: string) => Promise<void>;
  run: string[];
  environment?: Record<string, string>;
};

const project = join(import.meta.dir, "..", "..");
const lockedIn = (name: string) => join(import.meta.dir, "libraries", name);

const languages: Language[] = [
  {
    name: "ts",
    file: "receiver.ts",
    program: (code) => `import { readFileSync } from "node:fs";
const [, , bodyFile, headersFile, secret] = process.argv;
const rawBody = readFileSync(bodyFile, "utf8");
const headers = JSON.parse(readFileSync(headersFile, "utf8"));
${code}
console.log("genuine", event.id);`,
    install: async (folder) => symlinkSync(join(project, "node_modules"), join(folder, "node_modules")),
    run: [process.execPath, "receiver.ts"],
  },
  {
    name: "python",
    file: "receiver.py",
    program: (code) => `import json, sys
raw_body = open(sys.argv[1], "rb").read()
headers = json.load(open(sys.argv[2]))
secret = sys.argv[3]
${code}
print("genuine", event["id"])`,
    install: async (folder) => {
      const pip = ["python3", "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes"];
      const noise = ["--disable-pip-version-check", "--root-user-action=ignore"];
      await succeed(folder, [...pip, ...noise, "--target", "packages", "-r", lockedIn("requirements.txt")]);
    },
    run: ["python3", "receiver.py"],
    environment: { PYTHONPATH: "packages" },
  },
  {
    name: "go",
    file: "receiver.go",
    program: (code) => `package main
import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)
func main() {
	log.SetFlags(0)
	rawBody, _ := os.ReadFile(os.Args[1])
	given, _ := os.ReadFile(os.Args[2])
	secret := os.Args[3]
	var fields map[string]string
	json.Unmarshal(given, &fields)
	request := http.Request{Header: http.Header{}}
	for name, value := range fields {
		request.Header.Set(name, value)
	}
${code}
	if err != nil {
		log.Fatal(err)
	}
	var event struct{ Id string }
	json.Unmarshal(rawBody, &event)
	fmt.Println("genuine", event.Id)
}`,
    install: async (folder) => {
      for (const name of ["go.mod", "go.sum"]) copyFileSync(lockedIn(name), join(folder, name));
      await succeed(folder, ["go", "build", "-o", "receiver", "."]);
    },
    run: ["./receiver"],
  },
];

const blocks = labelledBlocks("docs/receiving-events.md").filter(({ label }) => label === "library");

// Go is a compiler that not everybody has; the other two are always there, test.sh sees to that.
const hasGo = Bun.which("go") !== null;
if (!hasGo) process.stderr.write("No Go on this machine: its library of Standard Webhooks is NOT tried.\n");

let delivered: Delivered;
beforeAll(async () => {
  delivered = await deliverDuringRotation();
});

test("the document shows a library's lines for three languages", () => {
  expect(blocks.map(({ language }) => language)).toEqual(languages.map(({ name }) => name));
});

describe.each(languages.filter(({ name }) => name !== "go" || hasGo))(
  "the documented lines with the library for $name",
  (language) => {
    const folder = temporaryFolder();
    afterAll(() => folder[Symbol.dispose]());
    beforeAll(async () => {
      const code = blocks.find((block) => block.language === language.name)?.code ?? "";
      writeFileSync(join(folder.path, language.file), language.program(code));
      await language.install(folder.path);
    }, 180_000);

    /** What the program says of the request under that secret. */
    async function verdictOn(request: Received, secret: string): Promise<string> {
      writeFileSync(join(folder.path, "body"), request.body);
      writeFileSync(join(folder.path, "headers"), JSON.stringify(Object.fromEntries(request.headers)));
      const command = [...language.run, "body", "headers", secret];
      return (await run(folder.path, command, language.environment)).said;
    }

    test("believe a delivery, and during the overlap of a rotation with either secret", async () => {
      const { first, old, during, current } = delivered;
      for (const [request, secret] of [
        [first, old],
        [during, old],
        [during, current],
      ] as const) {
        const id = request.headers.get("x-service-delivery") ?? "";
        expect(await verdictOn(request, secret)).toBe(`genuine ${id}`);
      }
    }, 60_000);

    test("refuse what was altered, and what was signed with a secret that came later", async () => {
      const { first, old, current } = delivered;
      const altered = { ...first, body: Buffer.from(first.text.replace("hello", "hullo")) };
      for (const [request, secret] of [
        [altered, old],
        [first, current],
      ] as const) {
        expect((await verdictOn(request, secret)).toLowerCase()).toContain("no matching signature");
      }
    }, 60_000);
  },
);

type Delivered = { first: Received; old: string; during: Received; current: string };

/** Two deliveries of the compiled server: one under the old secret, one while the current one overlaps with it. */
async function deliverDuringRotation(): Promise<Delivered> {
  await using stage = await startWebhookStage();
  await using listener = await stage.listen({ events: ["message.created"] });
  await stage.post(stage.team.general, "hello, Grüße 👋");
  const first = await listener.receiver.nth(1);
  const { id, secret: old } = listener.subscription;
  const { vault } = stage;
  const { secret: current } = await stage.database.write((tx) =>
    rotateSecret(tx, vault, stage.team.id, id, 60_000, actor),
  );
  await stage.post(stage.team.general);
  return { first, old, during: await listener.receiver.nth(2), current };
}

async function succeed(cwd: string, command: string[]): Promise<void> {
  const { said, status } = await run(cwd, command);
  if (status !== 0) throw new Error(`${command.join(" ")}: ${said}`);
}

async function run(cwd: string, command: string[], environment: Record<string, string> = {}) {
  const env = { ...process.env, ...environment };
  const child = Bun.spawn(command, { cwd, env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [said, complaint, status] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ]);
  return { said: (said + complaint).trim(), status };
}
