import { test } from "bun:test";
import { engine } from "./engine.ts";

/** A test of what is so on SQLite alone, in a file that runs on both engines. On PostgreSQL there is no such test. */
export function testOnSqlite(name: string, body: () => void | Promise<void>): void {
  if (engine === "sqlite") test(name, body);
}
