// Floor 5: one PostgreSQL transaction for each message, as an application does it that knows nothing better: the
// channel's next position, the row, a commit. Arguments: the address of the database and the ids of channel and author.
import { SQL } from "bun";

const [, , url = "", channel = "", author = ""] = Bun.argv;
const sql = new SQL(url, { max: 16 });
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  async fetch(request) {
    const { body } = JSON.parse(await request.text()) as { body: string };
    const id = Bun.randomUUIDv7();
    await sql.begin(async (transaction) => {
      const [taken] = await transaction<Array<{ position: string }>>`
        UPDATE channels SET last_position = last_position + 1 WHERE id = ${channel} RETURNING last_position AS position`;
      await transaction`INSERT INTO messages (id, channel_id, position, author_id, type, body, created_at)
        VALUES (${id}, ${channel}, ${taken?.position ?? ""}, ${author}, 'standard', ${body}, ${Date.now()})`;
    });
    return Response.json({ data: { id, body } }, { status: 201 });
  },
});
console.log(server.url.origin);
