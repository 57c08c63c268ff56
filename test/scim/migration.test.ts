import { Database as SqliteFile } from "bun:sqlite";
import { expect, test } from "bun:test";
import { migrate } from "../../src/database/migrate.ts";
import { migrations } from "../../src/database/migrations.ts";

test("a migration gives existing people and channels the attributes by which a directory finds them", () => {
  using file = new SqliteFile(":memory:");
  migrate(
    file,
    migrations.filter(({ name }) => name < "0003"),
  );
  file.run("INSERT INTO teams VALUES ('t', 'Acme', 'acme', 0), ('u', 'Umbrella', 'umbrella', 0)");
  const person = file.query(
    "INSERT INTO users (id, team_id, type, name, email, role, created_at) VALUES (?, ?, ?, ?, ?, ?, 1)",
  );
  person.run("1", "t", "human", "Ada King Lovelace", "ada@example.com", "owner");
  person.run("2", "t", "human", "Sam", null, "member");
  person.run("3", "t", "human", "SAM", null, "member");
  person.run("4", "t", "human", "Other Ada", "ADA@example.com", "member");
  person.run("5", "u", "human", "Sam", null, "owner");
  person.run("6", "t", "bot", "Sam", null, null);
  file.run(
    "INSERT INTO channels (id, team_id, name, slug, visibility, created_at) VALUES ('c', 't', 'x', 'x', 'private', 7)",
  );

  expect(migrate(file)).toContain("0003_directory");
  expect(file.query("SELECT id, user_name, given_name, family_name FROM users ORDER BY id").values()).toEqual(
    [
      ["1", "ada@example.com", "Ada", "King Lovelace"],
      ["2", "Sam", "Sam", "Sam"],
      ["3", "3", "SAM", "SAM"],
      ["4", "4", "Other", "Ada"],
      ["5", "Sam", "Sam", "Sam"],
      ["6", null, null, null],
    ],
  );
  expect(file.query("SELECT user_id, value FROM user_emails ORDER BY user_id").values()).toEqual([
    ["1", "ada@example.com"],
    ["4", "ADA@example.com"],
  ]);
  expect(file.query("SELECT is_managed, updated_at FROM channels").values()).toEqual([[0, 7]]);
});
