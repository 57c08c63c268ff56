import type { Command } from "commander";
import { DomainError } from "../../src/errors.ts";
import {
  getRefusedPost,
  listRefusedPosts,
  type RefusedPost,
} from "../../src/incoming-webhooks/refused-posts.ts";
import { readRefusedPost, resendRefusedPost } from "../../src/incoming-webhooks/senders/resend.ts";
import { addCommand } from "../invocation/command.ts";
import { incomingWebhookReference } from "../invocation/incoming-webhook-reference.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { outgoing } from "../invocation/outgoing.ts";
import { idColumns } from "../terminal/id-columns.ts";
import { byteSize } from "../terminal/quantity.ts";
import { relativeTime } from "../terminal/relative-time.ts";

/** `parley incoming-webhooks inspect` and `resend`: what a webhook refused. */
export function addRefusedPosts(noun: Command, invocation: Invocation): void {
  addInspect(noun, invocation);
  addResend(noun, invocation);
}

function addInspect(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "inspect [id] [post]", {
    summary: "List the latest posts that a webhook refused, or show one and why",
    examples: [
      "parley incoming-webhooks inspect 0199e7a4-5c1b-7e2a-9d3f-6b8a1c2d4e5f",
      "parley incoming-webhooks inspect 6b8a1c2d4e5f 1c2d4e5f",
    ],
  });
  invocation.teamAction(command, async (at, given?: string, postId?: string) => {
    const webhook = await incomingWebhookReference(invocation, at, given);
    const { vault } = outgoing(invocation);
    const { output } = invocation;
    if (postId === undefined) {
      const posts = await at.database.ask((db) => listRefusedPosts(db, vault, webhook.id));
      output.list(
        posts,
        [
          { title: "WHEN", of: ({ at: when }) => relativeTime(when) },
          { title: "ADDRESS", of: ({ address }) => `…${address}` },
          { title: "WHY", of: ({ reason }) => reason, canShrink: true },
          ...idColumns<RefusedPost>(({ id }) => id, 120),
        ],
        {
          none: `${webhook.name} has refused no post that is kept.`,
          ...(posts[0] && { next: `parley incoming-webhooks inspect ${webhook.id} ${posts[0].id}` }),
        },
      );
      return;
    }
    const opened = await at.database.ask((db) => getRefusedPost(db, vault, webhook.id, postId));
    const { post, headers, bytes } = opened;
    const readNow = await readRefusedPost(webhook.id, opened).catch((error: unknown) => {
      if (error instanceof DomainError) return error.message;
      throw error;
    });
    const wouldPost = typeof readNow === "string" ? null : readNow.message.text;
    output.details(
      { ...post, headers, body: bytes.toString("utf8"), would_post: wouldPost },
      [
        ["arrived", `${post.at} (${relativeTime(post.at)})`],
        ["address", `…${post.address}`],
        ["refused", post.reason],
        ...Object.entries(headers).map(([name, value]) => [`> ${name}`, value] as const),
        ["> body", bodyShown(post, bytes)],
        [
          "resent",
          typeof readNow === "string" ? `it would be refused: ${readNow}` : `it would post: ${wouldPost}`,
        ],
      ],
      wouldPost === null ? undefined : `parley incoming-webhooks resend ${webhook.id} ${post.id}`,
    );
  });
}

function bodyShown({ size }: RefusedPost, bytes: Buffer): string {
  if (size === null) return "(too large to be read)";
  const text = bytes.toString("utf8");
  return bytes.byteLength === size
    ? text
    : `${text}… (the first ${byteSize(bytes.byteLength)} of ${byteSize(size)})`;
}

function addResend(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "resend [id] [post]", {
    summary: "Post what was refused, after a repair",
    examples: ["parley incoming-webhooks resend 6b8a1c2d4e5f 1c2d4e5f"],
  });
  invocation.teamAction(command, async (at, given?: string, postGiven?: string) => {
    const { database, team } = at;
    const webhook = await incomingWebhookReference(invocation, at, given);
    const { vault } = outgoing(invocation);
    const postId = await invocation.prompts.choice(postGiven, {
      question: "Which post?",
      option: "POST",
      choices: async () =>
        (await database.ask((db) => listRefusedPosts(db, vault, webhook.id))).map((post) => ({
          value: post.id,
          label: post.reason,
          hint: relativeTime(post.at),
        })),
    });
    const read = await readRefusedPost(
      webhook.id,
      await database.ask((db) => getRefusedPost(db, vault, webhook.id, postId)),
    );
    const posted = await database.write((tx) =>
      resendRefusedPost(tx, { teamId: team.id, webhookId: webhook.id }, read, invocation.actor),
    );
    const as = read.readAs === read.post.address ? "" : `, read as posts to …${read.readAs} are`;
    invocation.output.done({
      data: posted,
      said: `Posted in #${webhook.channel.name} as ${posted.author.name}${as}.`,
      brief: posted.id,
      next: `parley messages show ${posted.id}`,
    });
  });
}
