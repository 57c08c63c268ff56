import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { WebhookSubscription } from "../../src/subscriptions/schemas.ts";
import { until } from "../support/conditions.ts";
import { labelledBlocks } from "../support/documents.ts";
import { atEndOfRun } from "../support/end-of-run.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { startWebhookStage } from "../support/webhook-stage.ts";

/** How a documented program is run, with a `handle` that notes the message of each event in the file `seen`. */
const programs: Record<string, { command: string; file: string; withHandle: (code: string) => string }> = {
  ts: {
    command: process.execPath,
    file: "reconcile.ts",
    withHandle: (code) => `${code}
import { appendFileSync } from "node:fs";
async function handle(event: { data: { body: string } }) {
  appendFileSync("seen", event.data.body + "\\n");
}`,
  },
  python: {
    command: "python3",
    file: "reconcile.py",
    withHandle: (code) => `def handle(event):
    with open("seen", "a") as file:
        file.write(event["data"]["body"] + "\\n")
${code}`,
  },
};

const blocks = labelledBlocks("docs/catching-up.md").filter(({ label }) => label === "reconcile");

test("the document has the program in two languages, in twenty lines at most", () => {
  expect(blocks.map(({ language }) => language)).toEqual(["ts", "python"]);
  for (const { code } of blocks) expect(code.trimEnd().split("\n").length).toBeLessThanOrEqual(20);
});

// A language whose interpreter is not on this machine cannot be run here; TypeScript always is.
const runnable = blocks.filter(({ language }) => Bun.which(programs[language]?.command ?? "") !== null);

describe.each(runnable.map(({ language, code }) => ({ language, code })))(
  "the documented program in $language",
  ({ language, code }) => {
    test("handles every event in order, also those of the time in which it did not run", async () => {
      await using stage = await startWebhookStage();
      const program = programs[language];
      if (!program) throw new Error(`no program for ${language}`);
      using folder = temporaryFolder();
      writeFileSync(join(folder.path, program.file), program.withHandle(code));
      const channel = await stage.channel();
      const { json } = await stage.api.post<{ data: WebhookSubscription }>("/webhooks", {
        name: "archive",
        url: null,
        pull: true,
        events: ["message.created"],
        channel_ids: [channel.id],
      });
      const { token } = await stage.workspace.token(stage.team.owner, "webhooks:write");
      const start = () => {
        const child = Bun.spawn([program.command, program.file], {
          cwd: folder.path,
          env: {
            PATH: process.env.PATH ?? "",
            PARLEY_URL: stage.server.url,
            PARLEY_TOKEN: token,
            PARLEY_SUBSCRIPTION: json.data.id,
          },
          stdout: "ignore",
          stderr: "ignore",
        });
        void child.exited.then(atEndOfRun(() => child.kill("SIGKILL")));
        return child;
      };
      const seen = () => {
        const file = join(folder.path, "seen");
        return existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : [];
      };
      const hasSeen = (posted: readonly string[]) =>
        until("it has handled what was posted", () => seen().at(-1) === posted.at(-1));

      const posted: string[] = [];
      const post = async (count: number) => {
        for (let nth = 0; nth < count; nth++) {
          posted.push(`message ${posted.length}`);
          await stage.post(channel, posted.at(-1));
        }
      };
      await post(3);
      const first = start();
      await hasSeen(posted);
      await post(3);
      await hasSeen(posted);
      await until("it has kept its cursor", async () => {
        const cursor = readFileSync(join(folder.path, "cursor"), "utf8");
        const path = `/webhooks/${json.data.id}/events?after=${cursor}`;
        return (await stage.api.get<{ data: unknown[] }>(path)).json.data.length === 0;
      });
      first.kill("SIGKILL");
      await first.exited;
      await post(3);
      const second = start();
      await hasSeen(posted);
      second.kill("SIGKILL");
      await second.exited;
      expect(seen()).toEqual(posted);
    }, 60_000);
  },
);
