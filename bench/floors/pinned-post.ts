// Floor 3: POSTs to one address, so many at a time for so many seconds, as a delivery is sent: pinned, without proxy,
// redirects or, unless told to, reused connections, the answer read to its end. Writes how many seconds it took and how many milliseconds each request.
const [, , url = "", concurrency = "", seconds = "", connection = ""] = Bun.argv;
const body = JSON.stringify({
  id: Bun.randomUUIDv7(),
  type: "message.created",
  data: { body: "x".repeat(400) },
});

const startedAt = performance.now();
const endsAt = startedAt + Number(seconds) * 1000;
const spansMs: number[] = [];

async function postUntilTheEnd(): Promise<void> {
  for (let sentAt = startedAt; sentAt < endsAt; sentAt = performance.now()) {
    await post().catch((failure: unknown) => {
      // A reused connection may have been closed under the request, which is then sent once more.
      if (connection !== "keep-alive") throw failure;
      return post();
    });
    spansMs.push(performance.now() - sentAt);
  }
}

async function post(): Promise<void> {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
    redirect: "manual",
    proxy: false,
    keepalive: connection === "keep-alive",
    decompress: false,
  });
  await answer.arrayBuffer();
}

await Promise.all(Array.from({ length: Number(concurrency) }, postUntilTheEnd));
console.log(JSON.stringify({ spansMs, seconds: (performance.now() - startedAt) / 1000 }));

// Makes the file a module for the compiler.
export {};
