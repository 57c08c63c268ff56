// Floor 3: POSTs to one address, sent as deliveries are: pinned, without proxy or redirects, on new connections unless
// told otherwise, the response read to its end. Arguments: the URL, how many at a time, for how many seconds, and
// `keep-alive` to reuse connections. Writes how many seconds it took and how many milliseconds each request took.
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
      // The receiver may have closed a reused connection under the request, which is then sent once more.
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

// Makes the compiler treat the file as a module.
export {};
