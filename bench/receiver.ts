// A webhook receiver in a process of its own. It accepts every request, but never responds to a POST to `/hang`.
// `GET /` returns how many requests it has accepted. Given the files of a key and a certificate, it speaks https.
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

// Makes the compiler treat the file as a module.
export {};
