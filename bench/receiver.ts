// A receiver of webhooks in a process of its own that accepts everything. `GET /` says how much that was.
let received = 0;
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch(request) {
    if (request.method === "GET") return Response.json(received);
    received++;
    return new Response();
  },
});
console.log(server.url.origin);

// Makes the file a module for the compiler.
export {};
