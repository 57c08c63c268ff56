import type { Benchmark } from "../benchmark.ts";
import { startFloor } from "../floor.ts";
import { manyConnections, measurePosts, postRequest } from "../posts.ts";
import { startParley } from "../parley.ts";
import { postOnNodes, seedOnPostgres, startNode } from "../postgres.ts";
import { seedWorkspace } from "../workspace.ts";

export default {
  row: 21,
  title: "Post a message, on PostgreSQL",
  method:
    "One server on a PostgreSQL next to it, which flushes each commit, against the same server on SQLite and against F5, a " +
    "server that makes one transaction of two statements for each message on the same PostgreSQL, with 16 connections. " +
    "Two nodes have half of the connections each. All share the machine.",
  goals: [
    { figure: "perSecond", of: "PostgreSQL", against: "SQLite", atLeast: 0.7 },
    { figure: "perSecond", of: "PostgreSQL", against: "F5", atLeast: 10 },
    { figure: "perSecond", of: "PostgreSQL, two nodes", against: "PostgreSQL", atLeast: 1 },
  ],
  async start(scale, stack) {
    const { seconds } = scale;
    const onPostgres = stack.use(await seedOnPostgres());
    const { workspace } = onPostgres;
    const onSqlite = await seedWorkspace();
    const sqlite = stack.use(await startParley(onSqlite.dataDir));
    const one = stack.use(await startNode(workspace));
    const other = stack.use(await startNode(workspace));
    const floor = stack.use(
      await startFloor("transaction", workspace.databaseUrl, workspace.channel.id, workspace.author.id),
    );
    const loadOn = (node: typeof one, connections: number) => ({
      ...postRequest(node, workspace),
      connections,
      seconds,
    });
    return {
      PostgreSQL: () => postOnNodes(onPostgres, [loadOn(one, manyConnections)]),
      SQLite: () => measurePosts(sqlite, onSqlite.file, postRequest(sqlite, onSqlite), scale),
      "PostgreSQL, two nodes": () =>
        postOnNodes(onPostgres, [loadOn(one, manyConnections / 2), loadOn(other, manyConnections / 2)]),
      F5: () => postOnNodes(onPostgres, [{ ...loadOn(one, manyConnections), url: floor.firstLine }]),
    };
  },
} satisfies Benchmark;
