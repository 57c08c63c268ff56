import type { Command } from "commander";
import { type Grade, grade } from "../../src/deliveries/grade.ts";
import { ping } from "../../src/deliveries/ping.ts";
import { addCommand } from "../invocation/command.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { outgoing } from "../invocation/outgoing.ts";
import { chosenSubscription } from "../invocation/subscription-reference.ts";
import { FailedRequest } from "../terminal/failed-request.ts";

/** The verbs of `parley webhooks` that try a receiver: ping, grade. */
export function addWebhookTests(noun: Command, invocation: Invocation): void {
  addPing(noun, invocation);
  addGrade(noun, invocation);
}

function addPing(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "ping [webhook]", {
    summary: "Send one signed, unlogged ping and show the response",
    examples: ["parley webhooks ping CI"],
  });
  invocation.teamAction(command, async (at, given?: string) => {
    const { id, name } = await chosenSubscription(invocation, at, given);
    const pong = await ping({ database: at.database, ...outgoing(invocation) }, at.team.id, id);
    const took = `in ${pong.duration_ms} ms`;
    const response = pong.response ? [`Response: ${pong.response}`] : [];
    if (!pong.succeeded) {
      throw new FailedRequest([`Ping failed ${took}: ${pong.error}.`, ...response].join("\n"), pong);
    }
    invocation.output.done({
      data: pong,
      said: [`${name} answered ${pong.response_status} ${took}.`, ...response],
      brief: String(pong.response_status),
    });
  });
}

function addGrade(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "grade [webhook]", {
    summary: "Send a good, a forged, a stale and a repeated ping, and judge the responses",
    examples: ["parley webhooks grade CI"],
  });
  invocation.teamAction(command, async (at, given?: string) => {
    const { id, name } = await chosenSubscription(invocation, at, given);
    const grades = await grade({ database: at.database, ...outgoing(invocation) }, at.team.id, id);
    const failure = failureOf(name, grades);
    const { output } = invocation;
    if (failure === undefined || !output.isJson) {
      output.list(
        grades,
        [
          { title: "REQUEST", of: ({ request }) => request },
          { title: "EXPECTED", of: ({ expected }) => expected },
          {
            title: "RESPONSE",
            of: ({ response_status, error }) => String(response_status ?? error),
            canShrink: true,
          },
          { title: "VERDICT", of: verdictOf },
        ],
        { none: "" },
      );
      for (const { request, advice } of grades) if (advice !== null) output.note(`${request}: ${advice}`);
    }
    if (failure !== undefined) throw new FailedRequest(failure, grades);
  });
}

/** Only what lets others send events, or keeps genuine ones out, is a failure; the rest is advice. */
function failureOf(name: string, grades: readonly Grade[]): string | undefined {
  const [good, forged] = grades;
  if (forged?.succeeded) return `${name} accepts forged requests.`;
  if (!good?.passed) return `${name} does not accept genuine requests, so the other answers say nothing.`;
  return undefined;
}

function verdictOf({ request, passed, succeeded }: Grade): string {
  if (passed) return "right";
  return request === "forged" && succeeded ? "dangerous" : "wrong";
}
