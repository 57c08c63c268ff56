import type { Command } from "commander";
import {
  type Identified,
  identifySecrets,
  type LeakedSecret,
  revokeIdentified,
} from "../../src/leaked-secrets.ts";
import { secretsIn } from "../../src/secrets/secret-text.ts";
import { addCommand } from "../invocation/command.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { outgoing } from "../invocation/outgoing.ts";
import { FailedRequest } from "../terminal/failed-request.ts";
import { relativeTime } from "../terminal/relative-time.ts";

/** `parley tokens leaked`: what the secrets in a text open, and how to end that. */
export function addLeaked(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "leaked [text]", {
    summary:
      "Find Parley's secrets in any text, say what each one opens, and revoke them. " +
      "Exits with 1 while one of them still works. " +
      "Arguments show in the list of processes: prefer - or a pipe, which read standard input",
    examples: ["git log -p | parley tokens leaked -", "parley tokens leaked --revoke - < build.log"],
  }).option("--revoke", "revoke the tokens and incoming webhooks that still work");
  invocation.workspaceAction(command, async (database, text?: string, options?: { revoke?: true }) => {
    const { prompts, actor } = invocation;
    const secrets = await secretsIn(await textParts(invocation, text));
    const { vault } = outgoing(invocation);
    let found = await database.ask((db) => identifySecrets(db, vault, secrets));
    const revocable = found.flatMap(({ revoke }) => revoke ?? []);
    let revoked = 0;
    if (options?.revoke && revocable.length > 0) {
      await prompts.confirm(`Revoke ${countOf(revocable.length)}? Whatever uses them stops working.`);
      await database.write(async (tx) => {
        for (const revoke of revocable) await revokeIdentified(tx, revoke, actor);
      });
      revoked = revocable.length;
      found = await database.ask((db) => identifySecrets(db, vault, secrets));
    }
    report(invocation, found, revoked);
  });
}

/** The text in parts: the argument, standard input for `-` or without a terminal, or else what is typed at a prompt. */
async function textParts(
  { prompts }: Invocation,
  text: string | undefined,
): Promise<AsyncIterable<string> | string[]> {
  if (text !== undefined && text !== "-") return [text];
  if (text === "-" || process.stdin.isTTY !== true) return decoded(Bun.stdin.stream());
  return [
    await prompts.secret({ question: "What is the leaked secret, or the text with it?", option: "TEXT" }),
  ];
}

async function* decoded(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const part of bytes) yield decoder.decode(part, { stream: true });
}

/** @throws FailedRequest while one of the secrets still works, for the exit status. */
function report({ output }: Invocation, found: readonly Identified[], revoked: number): void {
  const leaked = found.map((each) => each.leaked);
  const active = leaked.filter(({ status }) => status === "active");
  if (!output.isJson || active.length === 0) {
    output.list(
      leaked,
      [
        { title: "SECRET", of: ({ prefix }) => `${prefix}…` },
        { title: "KIND", of: ({ kind }) => kind.replace("_", " ") },
        { title: "OF", of: ownerOf, canShrink: true },
        { title: "OPENS", of: ({ opens }) => opens ?? "-", canShrink: true },
        { title: "USED", of: usedOf },
        { title: "STATUS", of: statusOf },
      ],
      { none: "There is no secret of Parley's format in it." },
    );
  }
  if (revoked > 0) output.note(`Revoked ${countOf(revoked)}.`);
  if (active.length === 0) return;
  const remedies = [
    ...new Set(active.map(({ remedy }) => remedy ?? "parley tokens leaked --revoke - < FILE")),
  ];
  throw new FailedRequest(
    `${active.length} of them ${active.length === 1 ? "still works" : "still work"}. ` +
      `To end that: ${remedies.join("; ")}`,
    leaked,
  );
}

function ownerOf({ user, name, team }: LeakedSecret): string {
  if (name === null) return "-";
  return `${user === null || user === name ? name : `${user}: ${name}`} (${team ?? "-"})`;
}

/** The use of tokens alone is recorded. */
function usedOf({ kind, status, last_used_at }: LeakedSecret): string {
  const isToken = kind === "bot_token" || kind === "personal_token";
  return isToken && status !== "unknown" ? relativeTime(last_used_at) : "-";
}

function statusOf({ status }: LeakedSecret): string {
  return status === "unknown" ? "not of this workspace" : status;
}

function countOf(count: number): string {
  return count === 1 ? "1 secret" : `${count.toLocaleString("en")} secrets`;
}
