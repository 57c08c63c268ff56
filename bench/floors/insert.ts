// Floor 2: the least that a stored message costs: parse JSON, one INSERT, a flush before the response.
import { Database } from "bun:sqlite";

const database = new Database(Bun.argv[2] ?? "", { create: true });
database.run("PRAGMA journal_mode = WAL");
database.run("PRAGMA synchronous = FULL");
database.run("CREATE TABLE IF NOT EXISTS messages (id TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT");
const insert = database.query("INSERT INTO messages (id, body) VALUES (?, ?)");

type Post = { id: string; body: string; onDisk: () => void };
let waiting: Post[] = [];

function commit(): void {
  const posts = waiting;
  waiting = [];
  database.run("BEGIN IMMEDIATE");
  for (const { id, body } of posts) insert.run(id, body);
  database.run("COMMIT");
  for (const { onDisk } of posts) onDisk();
}

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  async fetch(request) {
    const { body } = JSON.parse(await request.text()) as { body: string };
    const id = Bun.randomUUIDv7();
    await new Promise<void>((onDisk) => {
      if (waiting.push({ id, body, onDisk }) === 1) setImmediate(commit);
    });
    return Response.json({ data: { id, body } }, { status: 201 });
  },
});
console.log(server.url.origin);
