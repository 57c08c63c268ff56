import type { Command } from "commander";
import { alertPlaceOf, type AlertPlace, endAlerts, setAlertChannel } from "../../src/alerts/alerts.ts";
import { channelResource, getChannelNamed } from "../../src/channels/channels.ts";
import { DomainError } from "../../src/errors.ts";
import { addCommand } from "../invocation/command.ts";
import type { Invocation } from "../invocation/invocation.ts";

type NotifyOptions = { channel?: string; off?: boolean };

/** `parley teams notify`: where Parley tells a team what needs attention. */
export function addNotify(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "notify", {
    summary: "Be told in a channel when a webhook fails, is disabled or works again",
    examples: ["parley teams notify --channel ops", "parley teams notify --off", "parley teams notify"],
  })
    .option("--channel <channel>", "where a bot named Parley posts from now on")
    .option("--off", "post nothing any more, and delete the bot");
  invocation.teamAction(command, async ({ database, team }, { channel: reference, off }: NotifyOptions) => {
    const { actor, output } = invocation;
    if (off && reference !== undefined) throw new DomainError("usage", "Give either --channel or --off.");
    if (off) {
      const wasSet = await database.write((tx) => endAlerts(tx, team.id, actor));
      const said = wasSet ? `Parley posts nothing for ${team.name} any more.` : "Nothing was posted.";
      return output.done({ data: { channel: null, problem: null }, said, brief: "off" });
    }
    if (reference !== undefined)
      await database.write(async (tx) =>
        setAlertChannel(tx, await getChannelNamed(tx, team.id, reference), actor),
      );
    const place = await database.ask((db) => alertPlaceOf(db, team.id));
    output.done({
      data: { channel: place ? channelResource(place.channel) : null, problem: place?.problem ?? null },
      said: sentenceOf(place),
      brief: place?.channel.id ?? "off",
      ...(place?.problem !== null && { next: "parley teams notify --channel CHANNEL" }),
    });
  });
}

function sentenceOf(place: AlertPlace | undefined): string {
  if (!place) return "Parley posts nothing: no channel is set.";
  const { channel, problem } = place;
  if (problem !== null) return `Parley cannot post in #${channel.slug}: ${problem}.`;
  return `Parley posts in #${channel.slug} when a webhook fails for 10 minutes, is disabled or works again.`;
}
