import type { ReservedSQL, SQL } from "bun";
import { ConnectionTrouble } from "./connection-trouble.ts";
import { type Result, encoded, resultOf } from "./values.ts";
import { type Dialled, dial } from "./dial.ts";
import type { DatabaseUrl } from "../../input/database-url.ts";

/** How many ticks, which are seconds, an answer may take: longer than the server lets a statement run. */
const silentTicks = 15;

/** After how many ticks without a query an open connection is asked whether the server is still there. */
const idleTicks = 5;

/** Codes after which a connection is of no use: its server became a standby, or its tables have changed. */
const retiringCodes = new Set(["25006", "0A000"]);

/** One connection to PostgreSQL. Queries are sent at once and answered in their order; it never connects anew. */
export class Connection {
  /** How many queries have no answer yet. */
  inFlight = 0;
  /** The index of its host. */
  readonly host: number;
  /** Whether a session has it for itself. */
  isTaken = false;
  /** Whether an unused connection is asked whether the server is there. */
  isWatched = true;
  /** For how many ticks an answer may take. */
  patience = silentTicks;
  /** Called once when it has ended; the second is for the session that has it. */
  onEnd: (() => void) | undefined;
  onLost: ((error: unknown) => void) | undefined;
  readonly #client: SQL;
  readonly #reserved: ReservedSQL;
  #end: { reason: unknown } | undefined;
  #answers = 0;
  #answersAtTick = 0;
  #quietTicks = 0;
  #isRetiring = false;

  /**
   * Connects; see `dial`.
   * @throws what `dial` throws.
   */
  static async open(url: DatabaseUrl, host: number): Promise<Connection> {
    const dialled = await dial(url, host);
    const connection = new Connection(dialled);
    void dialled.closed.then((reason) => connection.end(reason));
    return connection;
  }

  private constructor({ client, reserved, host }: Dialled & { host: number }) {
    this.#client = client;
    this.#reserved = reserved;
    this.host = host;
  }

  /** Whether it takes queries. */
  get isOpen(): boolean {
    return this.#end === undefined && !this.#isRetiring;
  }

  /**
   * Runs one statement. Values are as SQLite has them: see `Result`.
   * @throws the server's or the driver's error; ConnectionTrouble once the connection has ended.
   */
  query(text: string, parameters: readonly unknown[]): Promise<Result> {
    if (this.#end) return Promise.reject(this.#end.reason);
    this.inFlight++;
    // A statement with parameters, and one made from a template, are prepared once and sent without waiting for those
    // before; text without parameters is not.
    const query =
      parameters.length === 0
        ? this.#reserved<unknown[][]>(templateOf(text))
        : this.#reserved.unsafe<unknown[][]>(text, parameters.map(encoded));
    return query.values().then(this.#succeeded, this.#failed);
  }

  /** Runs several statements without parameters, separated by semicolons, in one implicit transaction. */
  async script(text: string): Promise<void> {
    if (this.#end) throw this.#end.reason;
    this.inFlight++;
    await this.#reserved.unsafe(text).simple().then(this.#settled, this.#failed);
  }

  /** Call this once a second. Gives the connection up when an answer is overdue. */
  tick(): void {
    if (this.#end) return;
    const isQuiet = this.#answers === this.#answersAtTick;
    this.#answersAtTick = this.#answers;
    this.#quietTicks = isQuiet ? this.#quietTicks + 1 : 0;
    if (this.inFlight > 0) {
      if (this.#quietTicks > this.patience)
        this.end(new ConnectionTrouble("silent", "The database does not answer."));
    } else if (this.isWatched && this.#quietTicks >= idleTicks) {
      this.#quietTicks = 0;
      this.query("SELECT 1", []).catch(() => {});
    }
  }

  /** Closes it, whatever is under way: the server rolls an open transaction back. */
  end(reason: unknown): void {
    if (this.#end) return;
    this.#end = { reason };
    void this.#client.close({ timeout: 0 }).catch(() => {});
    this.onEnd?.();
    this.onLost?.(reason);
  }

  readonly #settled = () => {
    this.#answers++;
    this.inFlight--;
    if (this.#isRetiring && this.inFlight === 0 && !this.isTaken) this.end(retired);
  };

  readonly #succeeded = (rows: Parameters<typeof resultOf>[0]): Result => {
    this.#settled();
    return resultOf(rows);
  };

  readonly #failed = (error: unknown): never => {
    const { errno, severity, code } = error as { errno?: unknown; severity?: unknown; code?: unknown };
    // Ended here too, so that whoever tries again at once does not get this connection.
    if (severity === "FATAL" || code === "ERR_POSTGRES_CONNECTION_CLOSED") this.end(error);
    if (retiringCodes.has(String(errno))) this.#isRetiring = true;
    this.#settled();
    // The driver's word for a connection that we closed says less than our own reason.
    throw this.#end && errno === undefined ? this.#end.reason : error;
  };
}

const retired = new ConnectionTrouble("closed", "The connection was given up after an error.");

const templates = new Map<string, TemplateStringsArray>();

/** Kept, since the driver has to look at a new template first. */
function templateOf(text: string): TemplateStringsArray {
  let template = templates.get(text);
  if (!template) {
    if (templates.size >= 1_000) templates.clear();
    template = Object.defineProperty([text], "raw", { value: [text] }) as unknown as TemplateStringsArray;
    templates.set(text, template);
  }
  return template;
}
