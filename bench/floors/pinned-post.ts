// Floor 3: POSTs to one address, so many at a time for so many seconds, as a delivery is sent: pinned, without proxy,
// redirects or reused connections, the answer read to its end. Writes how many were answered and in how many seconds.
const [, , url = "", concurrency = "", seconds = ""] = Bun.argv;
const body = JSON.stringify({
  id: Bun.randomUUIDv7(),
  type: "message.created",
  data: { body: "x".repeat(400) },
});

const startedAt = performance.now();
const endsAt = startedAt + Number(seconds) * 1000;
let answered = 0;

async function postUntilTheEnd(): Promise<void> {
  while (performance.now() < endsAt) {
    const answer = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
      redirect: "manual",
      proxy: false,
      keepalive: false,
      decompress: false,
    });
    await answer.arrayBuffer();
    answered++;
  }
}

await Promise.all(Array.from({ length: Number(concurrency) }, postUntilTheEnd));
console.log(JSON.stringify({ answered, seconds: (performance.now() - startedAt) / 1000 }));

// Makes the file a module for the compiler.
export {};
