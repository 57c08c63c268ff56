// A receiver of webhooks in a process of its own. It accepts everything, but lets whoever posts to `/hang` wait for
// ever. `GET /` tells how many requests it has accepted. With a key and a certificate, two files, it speaks https.
const [, , hostname = "127.0.0.1", key, cert] = Bun.argv;
let accepted = 0;
const server = Bun.serve({
  port: 0,
  hostname,
  idleTimeout: 0,
  ...(key !== undefined && cert !== undefined && { tls: { key: Bun.file(key), cert: Bun.file(cert) } }),
  fetch(request) {
    if (request.method === "GET") return Response.json(accepted);
    if (request.url.endsWith("/hang")) return new Promise<Response>(() => {});
    accepted++;
    return new Response();
  },
});
console.log(server.url.origin.replace("0.0.0.0", "127.0.0.1"));

// Makes the file a module for the compiler.
export {};
