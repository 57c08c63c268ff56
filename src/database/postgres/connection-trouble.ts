/**
 * - `silent`: a server did not answer in time, and the connection was given up;
 * - `full`: no connection became free in time;
 * - `read_only`: no server takes writes;
 * - `closed`: the connection, or all of them, were closed by this process;
 * - `no_standby`: changes wait for a synchronous standby, and nothing was sent;
 * - `unconfirmed`: a commit was given up that waits for a synchronous standby.
 */
export type TroubleReason = "silent" | "full" | "read_only" | "closed" | "no_standby" | "unconfirmed";

/** An error with a connection that this process noticed itself; those of the server and the driver are theirs. */
export class ConnectionTrouble extends Error {
  override readonly name = "ConnectionTrouble";
  readonly reason: TroubleReason;

  constructor(reason: TroubleReason, message: string) {
    super(message);
    this.reason = reason;
  }
}
