import { Argument, type Command, Option } from "commander";
import { roles } from "../../src/subject.ts";
import { createPerson, deactivate, listPeople, reactivate, setRole } from "../../src/accounts/people.ts";
import { getUser, getUserNamed, personResource } from "../../src/users/users.ts";
import { addCommand } from "../invocation/command.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { personReference } from "../invocation/references.ts";
import { webhooksOfGone, webhooksOfReturned } from "../terminal/creator-view.ts";

type CreateOptions = { name?: string; role: string; email?: string };
type KeepOptions = { keepWebhooks?: true };

/** `parley users`: the people of a team. */
export function addUsers(program: Command, invocation: Invocation): void {
  const noun = addCommand(program, "users", {
    summary: "List, create and manage people",
    examples: ["parley users list"],
  });
  addList(noun, invocation);
  addCreate(noun, invocation);
  addSetRole(noun, invocation);
  addDeactivate(noun, invocation);
  addReactivate(noun, invocation);
}

function addList(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "list", {
    summary: "List all people, including deactivated ones",
    examples: ["parley users list"],
  });
  invocation.teamAction(command, async ({ database, team }) => {
    invocation.output.list(
      await database.ask((db) => listPeople(db, team.id)),
      [
        { title: "NAME", of: ({ name }) => name, canShrink: true },
        { title: "ROLE", of: ({ role }) => role },
        { title: "STATE", of: ({ active }) => (active ? "active" : "deactivated") },
        { title: "E-MAIL", of: ({ email }) => email ?? "", canShrink: true },
        { title: "ID", of: ({ id }) => id },
      ],
      { none: "There is no person in the team yet.", next: "parley users create --name NAME" },
    );
  });
}

function addCreate(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "create", {
    summary: "Add a person to the team",
    examples: ['parley users create --name "Grace Hopper" --email grace@example.com'],
  })
    .option("--name <name>", "the person's name")
    .addOption(new Option("--role <role>", "the person's role").choices(roles).default("member"))
    .option("--email <address>", "the person's e-mail address");
  invocation.teamAction(command, async ({ database, team }, options: CreateOptions) => {
    const name = await invocation.prompts.text(options.name, {
      question: "What is the person called?",
      option: "--name NAME",
    });
    const { role, email } = options;
    const row = await database.write((tx) =>
      createPerson(tx, team.id, { name, role, email }, invocation.actor),
    );
    const person = personResource(row);
    invocation.output.done({
      data: person,
      said: `Added ${person.name} to ${team.name} as ${person.role}.`,
      brief: person.id,
      next: `parley channels add-member CHANNEL ${person.id}`,
    });
  });
}

function addSetRole(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "set-role [user]", {
    summary: `Change a person's role: ${roles.join(", ")}`,
    examples: ['parley users set-role "Grace Hopper" owner'],
  }).addArgument(new Argument("[role]").choices(roles));
  invocation.teamAction(command, async (at, givenUser: string | undefined, givenRole: string | undefined) => {
    const { database, team } = at;
    const reference = await personReference(invocation, at, givenUser, { active: true });
    const role = await invocation.prompts.choice(givenRole, {
      question: "Which role?",
      option: "ROLE",
      choices: () => roles.map((value) => ({ value, label: value })),
    });
    const person = await database.write(async (tx) =>
      setRole(tx, await getUserNamed(tx, team.id, reference, { type: "human" }), role, invocation.actor),
    );
    invocation.output.done({
      data: person,
      said: `${person.name} is now ${person.role === "member" ? "a" : "an"} ${person.role}.`,
      brief: person.id,
      next: "parley users list",
    });
  });
}

function addDeactivate(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "deactivate [user]", {
    summary: "Deactivate a person and revoke their tokens; messages stay",
    examples: ['parley users deactivate "Grace Hopper" --yes'],
  }).option("--keep-webhooks", "do not disable the subscriptions that the person created");
  invocation.teamAction(command, async (at, given: string | undefined, { keepWebhooks }: KeepOptions) => {
    const { database, team } = at;
    const reference = await personReference(invocation, at, given, { active: true });
    const { id, name } = await database.ask((db) => getUserNamed(db, team.id, reference, { type: "human" }));
    await invocation.prompts.confirm(`Deactivate ${name} and revoke all their tokens?`);
    const person = await database.write(async (tx) =>
      deactivate(tx, await getUser(tx, team.id, id), invocation.actor, { keepWebhooks }),
    );
    invocation.output.done({
      data: person,
      said: [
        `Deactivated ${person.name}. Their messages stay.`,
        ...webhooksOfGone(person, invocation.visibility),
      ],
      brief: person.id,
      next: `parley users reactivate ${person.id}`,
    });
  });
}

function addReactivate(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "reactivate [user]", {
    summary: "Reactivate a deactivated person",
    examples: ['parley users reactivate "Grace Hopper"'],
  });
  invocation.teamAction(command, async (at, given?: string) => {
    const { database, team } = at;
    const reference = await personReference(invocation, at, given, { active: false });
    const person = await database.write(async (tx) => {
      const meant = { type: "human", preferred: "deactivated" } as const;
      return await reactivate(tx, await getUserNamed(tx, team.id, reference, meant), invocation.actor);
    });
    invocation.output.done({
      data: person,
      said: [
        `Reactivated ${person.name}, in the same channels. Revoked tokens stay revoked.`,
        ...webhooksOfReturned(person),
      ],
      brief: person.id,
      next: `parley tokens create --user ${person.id}`,
    });
  });
}
