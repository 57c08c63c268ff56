import { Argument, type Command } from "commander";
import { sendSample } from "../../src/deliveries/sample.ts";
import { type WebhookEvent, webhookEvents } from "../../src/event-types.ts";
import { eventExamples, exampleIds } from "../../src/openapi/examples.ts";
import { addCommand } from "../invocation/command.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { outgoing } from "../invocation/outgoing.ts";
import { chosenSubscription } from "../invocation/subscription-reference.ts";
import { FailedRequest } from "../terminal/failed-request.ts";

type TriggerOptions = { webhook?: string };

/** `parley trigger`: a made-up event for a receiver to be tried with. */
export function addTrigger(program: Command, invocation: Invocation): void {
  const command = addCommand(program, "trigger", {
    summary: "Send one signed, unlogged sample of an event to a receiver and show the response",
    examples: ["parley trigger message.created --webhook CI"],
  })
    .addArgument(new Argument("[event]", "the event type").choices(webhookEvents))
    .option("--webhook <webhook>", "the subscription whose receiver gets it");
  invocation.teamAction(command, async (at, given: string | undefined, options: TriggerOptions) => {
    const type = (await invocation.prompts.choice(given, {
      question: "Which event?",
      option: "EVENT",
      choices: () => webhookEvents.map((event) => ({ value: event, label: event })),
    })) as WebhookEvent;
    const { id, name, channel_ids } = await chosenSubscription(
      invocation,
      at,
      options.webhook,
      "--webhook WEBHOOK",
    );
    const parts = { database: at.database, ...outgoing(invocation) };
    const data = sampleData(type, channel_ids?.[0]);
    const sample = await sendSample(parts, at.team.id, id, { type, data });
    const took = `in ${sample.duration_ms} ms`;
    const response = sample.response ? [`Response: ${sample.response}`] : [];
    if (!sample.succeeded) {
      throw new FailedRequest(
        [`The sample failed ${took}: ${sample.error}.`, ...response].join("\n"),
        sample,
      );
    }
    invocation.output.done({
      data: sample,
      said: [`${name} answered ${sample.response_status} to the sample ${took}.`, ...response],
      brief: String(sample.response_status),
    });
  });
}

/** The example of the event, in that channel if one is given, so that a receiver for one channel knows it. */
function sampleData(type: WebhookEvent, channelId = exampleIds.channel): unknown {
  return JSON.parse(JSON.stringify(eventExamples[type]).replaceAll(exampleIds.channel, channelId));
}
