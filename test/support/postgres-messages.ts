/** A message of PostgreSQL's protocol with all its bytes. `type` is its letter, empty for those that begin a session. */
export type ProtocolMessage = { type: string; bytes: Buffer };

const lengthBytes = 4;

/** What a client sends instead of a session's start: whether there is TLS, or other encryption, to be had. */
const encryptionRequests = [80_877_103, 80_877_104];

/** Cuts what one side of a connection sends into messages. */
export class MessageReader {
  #rest = Buffer.alloc(0);
  #isClient: boolean;
  #hasBegun: boolean;

  constructor(side: "client" | "server") {
    this.#isClient = side === "client";
    this.#hasBegun = false;
  }

  /** The messages that are complete with these bytes. */
  read(bytes: Buffer): ProtocolMessage[] {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    const messages: ProtocolMessage[] = [];
    for (let message = this.#next(); message; message = this.#next()) messages.push(message);
    return messages;
  }

  #next(): ProtocolMessage | undefined {
    if (!this.#hasBegun) return this.#isClient ? this.#firstOfClient() : this.#firstOfServer();
    if (this.#rest.length < 1 + lengthBytes) return undefined;
    return this.#take(String.fromCharCode(this.#rest[0] ?? 0), 1 + this.#rest.readInt32BE(1));
  }

  #firstOfClient(): ProtocolMessage | undefined {
    if (this.#rest.length < 2 * lengthBytes) return undefined;
    const message = this.#take("", this.#rest.readInt32BE(0));
    if (message && !encryptionRequests.includes(message.bytes.readInt32BE(lengthBytes)))
      this.#hasBegun = true;
    return message;
  }

  /** To each request for encryption the server says no with a single letter. */
  #firstOfServer(): ProtocolMessage | undefined {
    if (this.#rest.length === 0) return undefined;
    if (this.#rest[0] === "N".charCodeAt(0) && this.#rest.length === 1) return this.#take("", 1);
    this.#hasBegun = true;
    return this.#next();
  }

  #take(type: string, length: number): ProtocolMessage | undefined {
    if (this.#rest.length < length) return undefined;
    const bytes = this.#rest.subarray(0, length);
    this.#rest = this.#rest.subarray(length);
    return { type, bytes };
  }
}

/** A statement that a message is about: it takes its view of the data when it is bound, and runs when it is executed. */
export type StatementStep = { text: string; isBound: boolean; isExecuted: boolean };

/** Knows which statement a client's message is about. */
export class StatementReader {
  readonly #prepared = new Map<string, string>();
  #bound = "";

  /** Undefined for a message that neither prepares, binds nor executes a statement. */
  step({ type, bytes }: ProtocolMessage): StatementStep | undefined {
    const body = bytes.subarray(1 + lengthBytes);
    switch (type) {
      case "Q":
        return { text: textsOf(body)[0] ?? "", isBound: true, isExecuted: true };
      case "P": {
        const [name = "", text = ""] = textsOf(body);
        this.#prepared.set(name, text);
        // All that follows comes with it.
        return { text, isBound: true, isExecuted: false };
      }
      case "B":
        this.#bound = this.#prepared.get(textsOf(body)[1] ?? "") ?? "";
        return { text: this.#bound, isBound: true, isExecuted: false };
      case "E":
        return { text: this.#bound, isBound: false, isExecuted: true };
      default:
        return undefined;
    }
  }
}

/** The first two texts of the message, each of which ends with a zero byte. */
function textsOf(body: Buffer): string[] {
  const first = body.indexOf(0);
  const second = body.indexOf(0, first + 1);
  return [body.toString("utf8", 0, first), body.toString("utf8", first + 1, second)];
}
