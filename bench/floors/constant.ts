// Floor 1: an HTTP server that only responds.
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: () => Response.json({ data: { ok: true } }),
});
console.log(server.url.origin);

// Makes the compiler treat the file as a module.
export {};
