import { type Command, Option } from "commander";
import { isProven, proveSecret, type SecretProof } from "../../src/deliveries/secret-proof.ts";
import { DomainError } from "../../src/errors.ts";
import { endOverlap, hasOverlap, rotateSecret } from "../../src/subscriptions/secrets.ts";
import type { ListedSubscription } from "../../src/subscriptions/schemas.ts";
import { addCommand } from "../invocation/command.ts";
import { parseDuration } from "../invocation/durations.ts";
import type { InTeam, Invocation } from "../invocation/invocation.ts";
import { outgoing } from "../invocation/outgoing.ts";
import { givenSecret, secretStdin } from "../invocation/own-secret.ts";
import { chosenSubscription } from "../invocation/subscription-reference.ts";
import { FailedRequest } from "../terminal/failed-request.ts";

/** `overlap` in milliseconds. */
type RotateOptions = { overlap?: number; untilProven?: true; secretStdin?: true };

/** How long both secrets sign if nobody proves the new one, in milliseconds: ten years. */
const untilProvenMs = 10 * 365 * 86_400_000;

/** How often the receiver is asked whether it has the new secret, and for how long, in milliseconds. */
const askEveryMs = 3_000;
const askForMs = 3_600_000;

/** `parley webhooks rotate-secret`: a new signing secret, at once or with an overlap. */
export function addRotateSecret(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "rotate-secret [webhook]", {
    summary: "Replace the signing secret; the new one is shown once",
    examples: [
      "parley webhooks rotate-secret CI --overlap 24h --yes",
      "parley webhooks rotate-secret CI --until-proven",
      "parley webhooks rotate-secret CI --secret-stdin --yes < secret.txt",
    ],
  })
    .option(
      "--overlap <span>",
      "how long to sign with both secrets: 30m, 24h, 7d (default: the old one stops working immediately)",
      parseDuration,
    )
    .addOption(
      new Option(
        "--until-proven",
        "sign with both until the receiver shows that it has the new one: waits on a terminal, otherwise run it again",
      ).conflicts("overlap"),
    )
    .addOption(secretStdin());
  invocation.teamAction(command, async (at, given: string | undefined, options: RotateOptions) => {
    const subscription = await chosenSubscription(invocation, at, given);
    const { id } = subscription;
    const { untilProven = false } = options;
    if (untilProven && (await at.database.ask((db) => hasOverlap(db, at.team.id, id))))
      return await prove(invocation, at, subscription, options);
    const ownSecret = await givenSecret(invocation, options);
    if (!untilProven) {
      const next = `parley webhooks ping ${id}`;
      return await rotate(invocation, at, subscription, { ownSecret, overlapMs: options.overlap ?? 0, next });
    }
    const rotation = { ownSecret, overlapMs: untilProvenMs };
    if (!invocation.output.isWatched) {
      const hint = ["Give it to the receiver, then run this again: it tries the new secret alone."];
      const next = `parley webhooks rotate-secret ${id} --until-proven`;
      return await rotate(invocation, at, subscription, { ...rotation, hint, next });
    }
    const hint = [
      "Give it to the receiver: this waits until it accepts what the new secret signs.",
      "Ctrl-C ends the waiting; both go on signing, and you can run this again.",
    ];
    await rotate(invocation, at, subscription, { ...rotation, hint });
    await prove(invocation, at, subscription, {});
  });
}

/** `overlapMs` in milliseconds; `hint` is what to do next, in lines of 80 columns. */
type Rotation = { ownSecret: string | undefined; overlapMs: number; next?: string; hint?: string[] };

async function rotate(
  invocation: Invocation,
  { database, team }: InTeam,
  { id, name }: ListedSubscription,
  { ownSecret, overlapMs, next, hint }: Rotation,
): Promise<void> {
  await invocation.prompts.confirm(`Replace the signing secret of ${name}? The receiver needs the new one.`);
  const { vault } = outgoing(invocation);
  const { secret, ...rotated } = await database.write((tx) =>
    rotateSecret(tx, vault, team.id, id, overlapMs, invocation.actor, ownSecret),
  );
  invocation.output.done({
    data: ownSecret === undefined ? { ...rotated, secret } : rotated,
    said: [
      `Replaced the signing secret of ${name}${overlapMs > 0 ? "; during the overlap both sign" : ""}.`,
      ...(ownSecret === undefined ? ["It is shown only once:", "", `  ${secret}`, ""] : []),
      ...(hint ?? []),
    ],
    brief: ownSecret === undefined ? secret : id,
    ...(next !== undefined && { next }),
  });
}

/**
 * Tries the new secret alone, on a terminal again and again for an hour, and once it passes, stops signing with the old
 * one.
 */
async function prove(
  invocation: Invocation,
  at: InTeam,
  subscription: ListedSubscription,
  { secretStdin }: RotateOptions,
): Promise<void> {
  if (secretStdin) {
    throw new DomainError(
      "usage",
      "A new secret already waits for its proof: prove it without --secret-stdin, or replace it without --until-proven.",
    );
  }
  const { id, name } = subscription;
  const { sealedSecret, ...proof } = await lastProof(invocation, at, subscription);
  if (!isProven(proof)) {
    const { genuine, forged } = proof;
    throw new FailedRequest(`${whyNot(id, name, proof)}\nBoth secrets go on signing.`, { genuine, forged });
  }
  const proven = await at.database.write((tx) =>
    endOverlap(tx, at.team.id, id, sealedSecret, invocation.actor),
  );
  invocation.output.done({
    data: { ...proven, ...proof },
    said: `${name} verifies with the new secret and refuses a forged request. The old secret signs no more.`,
    brief: id,
    next: `parley webhooks show ${id}`,
  });
}

/** What the receiver answered last: on a terminal once it has decided, or after an hour. */
async function lastProof(
  invocation: Invocation,
  { database, team }: InTeam,
  { id, name }: ListedSubscription,
): ReturnType<typeof proveSecret> {
  using progress = invocation.output.progress();
  const endsAt = invocation.output.isWatched ? performance.now() + askForMs : 0;
  while (true) {
    const proof = await proveSecret({ database, ...outgoing(invocation) }, team.id, id);
    const { genuine, forged } = proof;
    const isDecided = genuine.succeeded && forged.response_status !== null;
    if (isDecided || performance.now() > endsAt) return proof;
    progress.show(`Waiting for ${name}: ${genuine.error ?? forged.error}`);
    await Bun.sleep(askEveryMs);
  }
}

function whyNot(id: string, name: string, { genuine, forged }: SecretProof): string {
  if (!genuine.succeeded) {
    return [
      `${name} does not accept what the new secret alone has signed: ${genuine.error}.`,
      "Give the receiver the new secret, then run this again. If it is lost, this makes",
      `another, and the old one stops signing: parley webhooks rotate-secret ${id}`,
    ].join("\n");
  }
  if (forged.response_status === null)
    return `${name} did not answer the forged request: ${forged.error}. Run this again.`;
  return `${name} accepts a forged request too, so it proves nothing. See: parley webhooks grade ${id}`;
}
