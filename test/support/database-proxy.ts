import { connect, createServer, type Server, type Socket } from "node:net";
import { until } from "./conditions.ts";
import { lastingPort } from "./lasting-port.ts";
import {
  MessageReader,
  type ProtocolMessage,
  StatementReader,
  type StatementStep,
} from "./postgres-messages.ts";

/**
 * What happens to a statement: the connection is cut before it arrives; or when the database has answered it, but before
 * the answer arrives; or it is held back, or what comes after it is, so that its transaction stays open.
 */
type Fault = "lost" | "unanswered" | "delayed" | "open";

type Plan = { statement: RegExp; fault: Fault; happen: (goOn: () => void) => void };

type FindPlan = (step: StatementStep) => Plan | undefined;

/** Faults that befall a statement before it has seen any data; the others wait until it runs. */
const early: readonly Fault[] = ["lost", "delayed"];

/**
 * Stands between servers and their PostgreSQL and fails as networks do: `await using proxy = await DatabaseProxy.start(port)`.
 */
export class DatabaseProxy implements AsyncDisposable {
  readonly port = lastingPort();
  readonly #databasePort: number;
  readonly #links = new Set<Link>();
  readonly #plans: Plan[] = [];
  #server: Server | undefined;
  #isStalled = false;

  private constructor(databasePort: number) {
    this.#databasePort = databasePort;
  }

  static async start(databasePort: number): Promise<DatabaseProxy> {
    const proxy = new DatabaseProxy(databasePort);
    await proxy.accept();
    return proxy;
  }

  /** The same address of a database, but through here. */
  through(url: string): string {
    return url.replace(`:${this.#databasePort}/`, `:${this.port}/`);
  }

  /** How many connections are open. */
  get connections(): number {
    return this.#links.size;
  }

  /** Ends every connection and refuses new ones, until `accept`. */
  async refuse(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server?.close(() => resolve());
    this.cut();
    await promise;
  }

  /** Takes connections from now on. */
  async accept(): Promise<void> {
    const server = createServer({ allowHalfOpen: true }, (client) => this.#meet(client));
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(this.port, "127.0.0.1", resolve));
  }

  /** Ends every connection, as a firewall does that forgets them. */
  cut(): void {
    for (const link of this.#links) link.cut();
  }

  /** Lets nothing through from now on, in either direction, but tells nobody: as when a cable is pulled. */
  stall(): void {
    this.#isStalled = true;
    for (const link of this.#links) link.pause();
  }

  /** Lets everything through again, with what has come meanwhile. */
  resume(): void {
    this.#isStalled = false;
    for (const link of this.#links) link.resume();
  }

  /** Cuts the next connection that sends such a statement, before it arrives or before its answer does. */
  cutNext(statement: RegExp, fault: "lost" | "unanswered"): Promise<void> {
    return new Promise((resolve) => this.#plans.push({ statement, fault, happen: () => resolve() }));
  }

  /**
   * Holds the next such statement back, or lets it through and keeps its transaction open, until the returned function
   * is called.
   */
  holdNext(statement: RegExp, fault: "delayed" | "open"): Promise<() => void> {
    return new Promise((resolve) => this.#plans.push({ statement, fault, happen: resolve }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.refuse();
    await until("every connection has ended", () => this.#links.size === 0);
  }

  #meet(client: Socket): void {
    const link: Link = new Link(client, connect(this.#databasePort, "127.0.0.1"), {
      planFor: ({ text, isBound, isExecuted }) => {
        const at = this.#plans.findIndex(
          ({ statement, fault }) => (early.includes(fault) ? isBound : isExecuted) && statement.test(text),
        );
        return at < 0 ? undefined : this.#plans.splice(at, 1)[0];
      },
      onEnd: () => this.#links.delete(link),
    });
    this.#links.add(link);
    if (this.#isStalled) link.pause();
  }
}

/** A connection and what is behind it. */
class Link {
  readonly #client: Socket;
  readonly #database: Socket;
  readonly #planFor: FindPlan;
  readonly #sent = new MessageReader("client");
  readonly #received = new MessageReader("server");
  readonly #statements = new StatementReader();
  /** How often the database will have said that it is ready when it has answered all that was sent; once at the start. */
  #turns = 1;
  #turnsAnswered = 0;
  /** The turn whose answer must not arrive. */
  #turnToCut: number | undefined;
  #happen: (() => void) | undefined;
  /** What is held back, while something is. */
  #held: Buffer[] | undefined;

  constructor(
    client: Socket,
    database: Socket,
    { planFor, onEnd }: { planFor: FindPlan; onEnd: () => void },
  ) {
    this.#client = client;
    this.#database = database;
    this.#planFor = planFor;
    client.on("data", (bytes: Buffer) => this.#send(bytes));
    database.on("data", (bytes: Buffer) => this.#receive(bytes));
    for (const socket of [client, database]) {
      socket.on("error", () => {});
      socket.on("end", () => this.cut());
      socket.on("close", () => {
        this.cut();
        onEnd();
      });
    }
  }

  cut(): void {
    this.#client.destroy();
    this.#database.destroy();
  }

  pause(): void {
    this.#client.pause();
    this.#database.pause();
  }

  resume(): void {
    this.#client.resume();
    this.#database.resume();
  }

  #send(bytes: Buffer): void {
    for (const message of this.#sent.read(bytes)) {
      if (this.#database.destroyed) return;
      this.#sendOne(message);
    }
  }

  #sendOne(message: ProtocolMessage): void {
    const step = this.#statements.step(message);
    const plan = step && this.#planFor(step);
    if (plan?.fault === "lost") {
      this.cut();
      plan.happen(() => {});
      return;
    }
    if (plan?.fault === "unanswered") {
      this.#turnToCut = this.#turns + 1;
      this.#happen = () => plan.happen(() => {});
    }
    if (message.type === "Q" || message.type === "S") this.#turns++;
    if (plan?.fault === "delayed") this.#hold(plan);
    if (this.#held) this.#held.push(message.bytes);
    else this.#database.write(message.bytes);
    if (plan?.fault === "open") this.#hold(plan);
  }

  #hold(plan: Plan): void {
    const held: Buffer[] = [];
    this.#held = held;
    plan.happen(() => {
      this.#held = undefined;
      for (const bytes of held) this.#database.write(bytes);
    });
  }

  #receive(bytes: Buffer): void {
    for (const message of this.#received.read(bytes)) {
      const isOfTurnToCut = this.#turnsAnswered + 1 === this.#turnToCut;
      if (message.type === "Z") this.#turnsAnswered++;
      if (!isOfTurnToCut) this.#client.write(message.bytes);
      else if (message.type === "Z") {
        this.cut();
        this.#happen?.();
        return;
      }
    }
  }
}
