import type { Sender } from "./sender.ts";

/** The body is the message, whatever its content type says: `curl -d "done" ADDRESS`. */
export const text: Sender = {
  suffix: "text",
  name: "plain text",
  reads: "text",
  messageOf: ({ payload }) => ({ text: String(payload), username: null, iconUrl: null }),
  setUp: (address) => ["From a shell or a script:", "", `  curl -d "The backup is done." ${address}`],
};
