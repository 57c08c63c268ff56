import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "./conditions.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** A message of the browser: the answer to a call, or an event. */
type Message = {
  id?: number;
  method?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
  error?: { message: string };
};

/** A page in a Chromium without a window: `await using page = await openPage(url)`. */
export class BrowserPage implements AsyncDisposable {
  /** Every address that the page has asked for, in order. */
  readonly requested: string[] = [];
  /** What the browser has complained about: scripts that failed, and whatever the page's policy forbids. */
  readonly complaints: string[] = [];
  readonly #calls = new Map<number, (message: Message) => void>();
  readonly #socket: WebSocket;
  readonly #close: () => Promise<void>;

  constructor(socket: WebSocket, close: () => Promise<void>) {
    this.#socket = socket;
    this.#close = close;
    socket.addEventListener("message", ({ data }) => this.#receive(JSON.parse(String(data)) as Message));
  }

  /** Calls a method of the DevTools protocol. */
  async call(method: string, params: object = {}): Promise<Record<string, unknown>> {
    const id = this.#calls.size + 1;
    const answered = new Promise<Message>((resolve) => this.#calls.set(id, resolve));
    this.#socket.send(JSON.stringify({ id, method, params }));
    const { result, error } = await answered;
    if (!result) throw new Error(`${method}: ${error?.message}`);
    return result;
  }

  /** The value of a JavaScript expression in the page. */
  async value(expression: string): Promise<unknown> {
    const { result } = await this.call("Runtime.evaluate", { expression, returnByValue: true });
    return (result as { value?: unknown }).value;
  }

  /** Clicks the element, once it is there. */
  async click(selector: string): Promise<void> {
    const element = `document.querySelector(${JSON.stringify(selector)})`;
    await until(`${selector} is there to be clicked`, () =>
      this.value(`${element}?.click(), ${element} !== null`),
    );
  }

  /** Chooses the option of that value, once the element is there. */
  async choose(selector: string, option: string): Promise<void> {
    const element = `document.querySelector(${JSON.stringify(selector)})`;
    const change = `${element}.value = ${JSON.stringify(option)},
      ${element}.dispatchEvent(new Event("change", { bubbles: true }))`;
    await until(`${selector} has ${option} to choose`, () =>
      this.value(`${element} !== null && (${change})`),
    );
  }

  /** Types into the element in place of what stands there, once it is there, and leaves it. */
  async type(selector: string, text: string): Promise<void> {
    const element = `document.querySelector(${JSON.stringify(selector)})`;
    await until(`${selector} is there to be typed into`, () =>
      this.value(`${element}?.focus(), ${element}?.select(), ${element} !== null`),
    );
    await this.call("Input.insertText", { text });
    await this.value(`${element}.blur()`);
  }

  /** What the page shows as text, once that contains `part`. */
  async shows(part: string): Promise<string> {
    const shown = await until(`the page shows ${part}`, async () => {
      const text = String(await this.value("document.body.innerText"));
      return text.includes(part) && text;
    });
    return shown;
  }

  /** Gives the page a screen of that width in pixels, and a user who prefers those colours. */
  async look({ width, scheme }: { width: number; scheme: string }): Promise<void> {
    const metrics = { width, height: 900, deviceScaleFactor: 1, mobile: width < 600 };
    await this.call("Emulation.setDeviceMetricsOverride", metrics);
    const features = [{ name: "prefers-color-scheme", value: scheme }];
    await this.call("Emulation.setEmulatedMedia", { features });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }

  #receive({ id, method, params = {}, ...outcome }: Message): void {
    if (id !== undefined) this.#calls.get(id)?.(outcome);
    if (method === "Network.requestWillBeSent") this.requested.push((params.request as { url: string }).url);
    if (method === "Log.entryAdded") this.complaints.push((params.entry as { text: string }).text);
    if (method === "Runtime.exceptionThrown") this.complaints.push(JSON.stringify(params.exceptionDetails));
  }
}

/**
 * Opens the address in a new Chromium with a profile of its own.
 * @throws when there is no Chromium to be run.
 */
export async function openPage(url: string): Promise<BrowserPage> {
  if (!Bun.which("chromium")) throw new Error("There is no chromium: install the package of that name.");
  const profile = temporaryFolder();
  const browser = Bun.spawn(
    [
      "chromium",
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--remote-debugging-port=0",
      `--user-data-dir=${profile.path}`,
      "about:blank",
    ],
    { stdin: "ignore", stdout: "ignore", stderr: "ignore" },
  );
  const close = async () => {
    browser.kill("SIGKILL");
    await browser.exited;
    profile[Symbol.dispose]();
  };
  try {
    const socket = new WebSocket(await pageAddress(profile.path));
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve);
      socket.addEventListener("error", reject);
    });
    const page = new BrowserPage(socket, close);
    for (const domain of ["Network", "Log", "Runtime"]) await page.call(`${domain}.enable`);
    await page.call("Page.navigate", { url });
    return page;
  } catch (error) {
    await close();
    throw error;
  }
}

/** Where the one page of the browser listens, which Chromium says in a file of its profile and then over HTTP. */
async function pageAddress(profile: string): Promise<string> {
  const file = join(profile, "DevToolsActivePort");
  const port = await until(
    "Chromium says where it listens",
    () => existsSync(file) && readFileSync(file, "utf8").split("\n")[0],
  );
  return await until("Chromium has a page", async () => {
    const targets = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as Array<{
      type: string;
      webSocketDebuggerUrl: string;
    }>;
    return targets.find(({ type }) => type === "page")?.webSocketDebuggerUrl;
  });
}
