import { Command, Help } from "commander";
import type { Environment } from "../src/config.ts";
import { forbidden } from "../src/errors.ts";
import { version } from "../src/version.ts";
import { addAudit } from "./commands/audit.ts";
import { addBackup } from "./commands/backup.ts";
import { addBots } from "./commands/bots.ts";
import { addChannels } from "./commands/channels.ts";
import { addCompletion } from "./commands/completion.ts";
import { addConfig } from "./commands/config.ts";
import { addDeliveries } from "./commands/deliveries.ts";
import { addDoctor } from "./commands/doctor.ts";
import { addEmojiNoun } from "./commands/emoji.ts";
import { addIncomingWebhooks } from "./commands/incoming-webhooks.ts";
import { addInit } from "./commands/init.ts";
import { addLicenses } from "./commands/licenses.ts";
import { addListen } from "./commands/listen.ts";
import { addMessages } from "./commands/messages.ts";
import { addMove } from "./commands/move.ts";
import { addOpenApi } from "./commands/openapi.ts";
import { addQuickstart } from "./commands/quickstart.ts";
import { addRestore } from "./commands/restore.ts";
import { addSecrets } from "./commands/secrets.ts";
import { addServe } from "./commands/serve.ts";
import { addStatus } from "./commands/status.ts";
import { addTeams } from "./commands/teams.ts";
import { addTokens } from "./commands/tokens.ts";
import { addTrigger } from "./commands/trigger.ts";
import { addUpgrade } from "./commands/upgrade.ts";
import { addUsers } from "./commands/users.ts";
import { addWebhooks } from "./commands/webhooks.ts";
import { Invocation } from "./invocation/invocation.ts";

/** Nouns that exist only while `INTEGRATIONS_ENABLED` is true. */
const integrationCommands = new Set([
  "quickstart",
  "bots",
  "tokens",
  "incoming-webhooks",
  "webhooks",
  "deliveries",
  "trigger",
]);

/**
 * Builds the command tree with its global options. Parsing throws instead of exiting: commander's own error for wrong
 * usage or after help, otherwise the error of the command.
 */
export function parleyProgram(environment: Environment): Command {
  const program = new Command("parley");
  const invocation = new Invocation(program, environment);
  // Before the commands are added: each inherits these settings from its parent.
  program
    .exitOverride()
    .configureOutput({ outputError: () => {} })
    .configureHelp({
      showGlobalOptions: true,
      // What follows the name only pushes the descriptions aside; the help of each command has it.
      subcommandTerm: (command) => command.name(),
      // Next to a list of subcommands, the global options would bury it.
      visibleGlobalOptions: (command) =>
        command.commands.length > 0
          ? []
          : new Help().visibleGlobalOptions.call({ showGlobalOptions: true }, command),
      visibleCommands: (command) =>
        new Help()
          .visibleCommands(command)
          .filter((child) => command !== program || isListed(invocation, child)),
    })
    .hook("preAction", (_, command) => {
      invocation.commandName = pathOf(command);
      if (isEnabled(invocation, nounOf(command))) return;
      throw forbidden("The integrations platform is disabled: INTEGRATIONS_ENABLED is false.");
    });
  program
    .description("Self-hosted integrations server for team chat.")
    .usage("NOUN VERB [options]")
    .version(version, "-V, --version", "print the version")
    .option("--data-dir <dir>", "the data folder (default: PARLEY_DATA_DIR or ~/.local/share/parley)")
    .option("--team <slug>", "the team, required if there are several; for init, its name")
    .option("--json", "print one JSON document")
    .option("--quiet", "print only the result: the data, or the new id or secret")
    .option("--no-color", "disable colours")
    .option("--yes", "skip confirmation prompts")
    .addHelpText("after", "\nExample:\n  parley quickstart");

  // A group is for the commands that follow it.
  program.commandsGroup("Run a server:");
  addQuickstart(program, invocation);
  addInit(program, invocation);
  addServe(program, invocation);
  addStatus(program, invocation);
  addDoctor(program, invocation);
  addConfig(program, invocation);
  program.commandsGroup("Manage a team:");
  addTeams(program, invocation);
  addUsers(program, invocation);
  addChannels(program, invocation);
  addMessages(program, invocation);
  addEmojiNoun(program, invocation);
  addAudit(program, invocation);
  program.commandsGroup("Connect programs:");
  addBots(program, invocation);
  addTokens(program, invocation);
  addIncomingWebhooks(program, invocation);
  addWebhooks(program, invocation);
  addDeliveries(program, invocation);
  addTrigger(program, invocation);
  addListen(program, invocation);
  program.commandsGroup("Keep the data safe:");
  addBackup(program, invocation);
  addRestore(program, invocation);
  addUpgrade(program, invocation);
  addSecrets(program, invocation);
  addMove(program, invocation);
  program.commandsGroup("More:");
  addOpenApi(program, invocation);
  addCompletion(program, invocation);
  addLicenses(program, invocation);
  program.helpCommand("help [command]", "Display help for a command");
  return program;
}

/** Help works even when a setting does not parse; it then lists everything. */
function isListed(invocation: Invocation, command: Command): boolean {
  try {
    return isEnabled(invocation, command);
  } catch {
    return true;
  }
}

function isEnabled(invocation: Invocation, command: Command): boolean {
  return !integrationCommands.has(command.name()) || invocation.config().integrationsEnabled;
}

/** The nouns and the verb of the command: `deliveries replay`. */
function pathOf(command: Command): string {
  const { parent } = command;
  return parent?.parent ? `${pathOf(parent)} ${command.name()}` : command.name();
}

/** The top-level command that this one is or belongs to. */
function nounOf(command: Command): Command {
  const { parent } = command;
  return parent?.parent ? nounOf(parent) : command;
}
