import type { Command } from "commander";
import { channelResource, getChannelNamed } from "../../src/channels/channels.ts";
import { joinChannel, leaveChannel, listMembersOf } from "../../src/members/members.ts";
import { getUser, getUserNamed } from "../../src/users/users.ts";
import { channelTitle } from "../terminal/channel-view.ts";
import { addCommand } from "../invocation/command.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { channelReference, userReference } from "../invocation/references.ts";

/** The verbs of `parley channels` that deal with members. */
export function addMemberVerbs(noun: Command, invocation: Invocation): void {
  addMembers(noun, invocation);
  addAddMember(noun, invocation);
  addRemove(noun, invocation);
}

function addMembers(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "members [channel]", {
    summary: "List the members of a channel",
    examples: ["parley channels members general"],
  });
  invocation.teamAction(command, async (at, given?: string) => {
    const reference = await channelReference(invocation, at, given);
    const { channel, members } = await at.database.ask(async (db) => {
      const channel = await getChannelNamed(db, at.team.id, reference);
      return { channel, members: await listMembersOf(db, channel) };
    });
    invocation.output.list(
      members,
      [
        { title: "NAME", of: ({ name }) => name, canShrink: true },
        { title: "TYPE", of: ({ type }) => type },
        { title: "ID", of: ({ id }) => id },
      ],
      { none: "The channel has no members.", next: `parley channels add-member ${channel.slug} USER` },
    );
  });
}

function addAddMember(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "add-member [channel] [user]", {
    summary: "Add a person or a bot to a channel",
    examples: ['parley channels add-member deploys "Build Bot"'],
  });
  invocation.teamAction(command, async (at, givenChannel?: string, givenUser?: string) => {
    const { database, team } = at;
    const channelRef = await channelReference(invocation, at, givenChannel);
    const userRef = await userReference(invocation, at, givenUser, {
      question: "Who should be added?",
      option: "USER",
    });
    const { channel, user } = await database.write(async (tx) => {
      const row = await getChannelNamed(tx, team.id, channelRef);
      const joined = await joinChannel(tx, row, await getUserNamed(tx, team.id, userRef), invocation.actor);
      return { channel: channelResource(row), user: joined };
    });
    invocation.output.done({
      data: channel,
      said: `Added ${user.name} to ${channelTitle(channel)}.`,
      brief: channel.id,
      next: `parley channels members ${channel.id}`,
    });
  });
}

function addRemove(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "remove-member [channel] [user]", {
    summary: "Remove a person or a bot from a channel",
    examples: ['parley channels remove-member deploys "Build Bot" --yes'],
  });
  invocation.teamAction(command, async (at, givenChannel?: string, givenUser?: string) => {
    const { database, team } = at;
    const channelRef = await channelReference(invocation, at, givenChannel);
    const row = await database.ask((db) => getChannelNamed(db, team.id, channelRef));
    const channel = channelResource(row);
    const userRef = await invocation.prompts.choice(givenUser, {
      question: "Who should be removed?",
      option: "USER",
      choices: async () =>
        (await database.ask((db) => listMembersOf(db, row))).map(({ id, name, type }) => ({
          value: id,
          label: name,
          hint: type,
        })),
    });
    const { id, name } = await database.ask((db) => getUserNamed(db, team.id, userRef));
    await invocation.prompts.confirm(`Remove ${name} from ${channelTitle(channel)}?`);
    await database.write(async (tx) => {
      const current = await getChannelNamed(tx, team.id, channel.id);
      await leaveChannel(tx, current, await getUser(tx, team.id, id), invocation.actor);
    });
    invocation.output.done({
      data: channel,
      said: `Removed ${name} from ${channelTitle(channel)}.`,
      brief: channel.id,
      next: `parley channels members ${channel.id}`,
    });
  });
}
