import { litestreamProgram } from "../test/replication/litestream-program.ts";

// Builds the Litestream that a test needs, unless it is built. It takes minutes, so `bun run check` starts it before its
// gates, and the test waits for the rest.
await litestreamProgram();
