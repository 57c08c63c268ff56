import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import type { Command } from "commander";
import { completionsOf } from "../../cli/invocation/completions.ts";
import { parleyProgram } from "../../cli/program.ts";
import { channelVisibilities } from "../../src/channels/schemas.ts";
import { webhookEvents } from "../../src/event-types.ts";
import { roles } from "../../src/subject.ts";
import { scopes } from "../../src/tokens/scopes.ts";
import { until } from "../support/conditions.ts";
import { parley } from "../support/server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const program = parleyProgram({});

/** The words that can follow; the last one of those typed is the one to complete. */
function after(...words: string[]): string[] {
  return completionsOf(program, words).map(({ word }) => word);
}

function commandsUnder(command: Command, path: string[] = []): Array<{ path: string[]; command: Command }> {
  const children = command.commands.flatMap((child) => commandsUnder(child, [...path, child.name()]));
  return [{ path, command }, ...children];
}

describe("completion", () => {
  test("knows every noun, every verb and every option, each with what it does", () => {
    for (const { path, command } of commandsUnder(program)) {
      const names = command.commands.map((child) => child.name());
      if (names.length > 0) expect(after(...path, "")).toEqual(names);
      const options = after(...path, "-");
      for (const { long, hidden } of [...command.options, ...program.options.slice(1)]) {
        if (hidden) expect(options, path.join(" ")).not.toContain(long ?? "");
        else expect(options, path.join(" ")).toContain(long ?? "");
      }
      for (const { description } of completionsOf(program, [...path, "-"])) expect(description).not.toBe("");
    }
  });

  test("knows the values of closed choices, of options and of arguments", () => {
    expect(after("tokens", "create", "--scope", "")).toEqual([...scopes]);
    expect(after("webhooks", "create", "--event", "")).toEqual([...webhookEvents]);
    expect(after("channels", "create", "--visibility", "")).toEqual([...channelVisibilities]);
    expect(after("users", "create", "--role", "")).toEqual([...roles]);
    expect(after("users", "set-role", "ana", "")).toEqual([...roles]);
    expect(after("completion", "")).toEqual(["bash", "zsh", "fish"]);
  });

  test.each([
    [["tok"], ["tokens"]],
    [["--json", "tokens", "cr"], ["create"]],
    [["--data-dir", "tokens", "emo"], ["emoji"]],
    [["--data-dir=tokens", "emo"], ["emoji"]],
    [
      ["tokens", "create", "--scope", "messages:"],
      ["messages:read", "messages:write"],
    ],
    [["tokens", "create", "--scope=messages:w"], ["--scope=messages:write"]],
    [["tokens", "create", "--scope", "messages:read", "channels:r"], ["channels:read"]],
    [["tokens", "create", "--scope", "messages:read", "--name", "x"], []],
    [["tokens", "create", "--all"], ["--all-scopes"]],
    [["tokens", "revoke", "--", "--"], []],
    [["backup", "x"], [":files"]],
    [["openapi", "--out", ""], [":files"]],
    [["openapi", "--out=/tmp/"], [":files"]],
    [["status", "--data-dir", ""], [":folders"]],
    [["backup", "--every", "6h", "--to", ""], [":folders"]],
    [["upgrade", "--rehearse", ""], [":files"]],
    [["nonsense", "more", "x"], []],
    [["users", "set-role", "ana", "admin", "o"], []],
  ])("of %j is %j", (words, expected) => {
    expect(after(...words)).toEqual(expected);
  });
});

describe("bash", () => {
  /** What the Tab key makes of a line typed into an interactive bash. */
  async function typed(line: string, wanted: string): Promise<void> {
    using folder = temporaryFolder();
    mkdirSync(join(folder.path, "backups"));
    writeFileSync(join(folder.path, "backup-of-monday"), "");
    let screen = "";
    const decoder = new TextDecoder();
    await using shell = Bun.spawn(["bash", "--norc", "--noprofile", "-i"], {
      cwd: folder.path,
      env: {
        PATH: `${dirname(parley)}:${process.env.PATH}`,
        HOME: folder.path,
        PS1: "ready> ",
        TERM: "dumb",
      },
      terminal: {
        cols: 200,
        rows: 20,
        data: (_terminal, data) => {
          screen += decoder.decode(data, { stream: true });
        },
      },
    });
    const shows = (text: string) =>
      until(`bash shows ${text}`, () => stripVTControlCharacters(screen).includes(text));
    try {
      await shows("ready> ");
      shell.terminal?.write("source <(parley completion bash); echo load''ed\r");
      await shows("loaded");
      screen = "";
      shell.terminal?.write(`${line}\t`);
      await shows(wanted);
    } catch (error) {
      throw new Error(`${String(error)} It shows:\n${screen}`, { cause: error });
    } finally {
      shell.kill("SIGKILL");
      await shell.exited;
      shell.terminal?.close();
    }
  }

  test.concurrent.each([
    ["parley tok", "parley tokens "],
    ["parley tokens create --scope messages:w", "--scope messages:write "],
    ["parley tokens create --scope=messages:w", "--scope=messages:write "],
    ["parley webhooks create --event reaction", "--event reaction.added "],
    ["parley openapi --out backup-of", "--out backup-of-monday "],
    ["parley status --data-dir back", "--data-dir backups/"],
  ])("makes %j into %j", typed);
});

test.each(["bash", "zsh", "fish"])("the script for %s is one that asks parley itself", async (shell) => {
  await using child = Bun.spawn([parley, "completion", shell], { stdout: "pipe", env: {} });
  const script = await child.stdout.text();
  expect(await child.exited).toBe(0);
  expect(script).toContain(` completion ${shell} -- `);
});
