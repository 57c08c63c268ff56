// Floor 4: one SELECT of 50 rows of a channel, as JSON. Arguments: the database file and the channel's id.
import { Database } from "bun:sqlite";

const [, , file = "", channel = ""] = Bun.argv;
const rows = new Database(file, { readonly: true }).query(
  "SELECT * FROM messages WHERE channel_id = ? ORDER BY position DESC LIMIT 50",
);
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: () =>
    new Response(JSON.stringify({ data: rows.all(channel) }), {
      headers: { "content-type": "application/json" },
    }),
});
console.log(server.url.origin);
