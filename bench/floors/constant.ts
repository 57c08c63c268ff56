// Floor 1: an HTTP server that does nothing but answer.
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: () => Response.json({ data: { ok: true } }),
});
console.log(server.url.origin);

// Makes the file a module for the compiler.
export {};
