import { getTableColumns, getTableName } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Transaction } from "./database.ts";
import { prepared } from "./prepared.ts";

/** A row as it is inserted: without the columns that the database fills, which are the numbers that it gives. */
export type InsertedRow<Table extends SQLiteTable> = {
  [
    Key in keyof Table["$inferSelect"] as Table["_"]["columns"][Key]["_"]["hasDefault"] extends true
      ? never
      : Key
  ]: Table["$inferSelect"][Key];
};

/**
 * A prepared `INSERT` of one whole row into a table that numbers its rows; returns the number. Values are bound by the
 * names of the columns, so the schema alone decides their order. Like `change`, it must not touch a table that the cache
 * version covers. A row that lacks a column throws; other properties are ignored. A row whose `unless` column has a value
 * that is there already is left out, and 0 is returned.
 */
export function insertInto<Table extends SQLiteTable>(
  table: Table,
  { unless }: { unless?: string } = {},
): (tx: Transaction, row: InsertedRow<Table>) => number {
  const columns = insertedColumns(table);
  const names = columns.map(({ name }) => name).join(", ");
  const values = columns.map(({ key }) => `$${key}`).join(", ");
  const conflict = unless === undefined ? "" : `ON CONFLICT (${unless}) DO NOTHING`;
  const text = `INSERT INTO ${getTableName(table)} (${names}) VALUES (${values}) ${conflict} RETURNING seq`;
  const statement = prepared(({ $client }) => $client.prepare<{ seq: number }, [InsertedRow<Table>]>(text));
  return (tx, row) => {
    tx.commit.hasChanged = true;
    return statement(tx).get(row)?.seq ?? 0;
  };
}

/** The columns of an `InsertedRow`: their names in the database, and their keys in the row. */
export function insertedColumns(table: SQLiteTable): Array<{ key: string; name: string }> {
  return Object.entries(getTableColumns(table))
    .filter(([, column]) => !column.hasDefault)
    .map(([key, { name }]) => ({ key, name }));
}

/**
 * The columns of the table for a `SELECT`, under their names in the schema: `m.id AS "id", m.channel_id AS "channelId"`.
 * Values come as SQLite holds them, so a boolean is 0 or 1.
 */
export function columnsOf(table: SQLiteTable, alias: string): string {
  return Object.entries(getTableColumns(table))
    .map(([key, { name }]) => `${alias}.${name} AS "${key}"`)
    .join(", ");
}
