import type { DomainError } from "../../errors.ts";
import type { Message } from "../../messages/schemas.ts";
import type { IncomingPayload } from "../payload.ts";
import type { Proof } from "../signature.ts";

/** What a sender has posted. */
export type Post = {
  /** The JSON of the body, or the text itself for a sender that `reads` text. */
  payload: unknown;
  headers: Headers;
};

/** The status, body and headers of a response to a sender. */
export type SenderResponse = { status: number; body: string | null; headers: Record<string, string> };

/**
 * A program that posts in a form of its own, to the address of an incoming webhook with `/suffix` after it. Whatever is
 * left out is as at the specified address.
 */
export type Sender = {
  suffix: string;
  /** Its name as people write it. */
  name: string;
  /** What its body is read as; JSON unless said otherwise. */
  reads?: "text";
  /** The field that holds the JSON where it posts a form; `payload` unless said otherwise. */
  field?: string;
  /**
   * Returns the message that the post makes. Pure, and takes time linear in the size of the post. Text of any length
   * and with any characters may come out: it is made to fit before it is posted.
   * @throws DomainError `invalid` for what is not of this sender. An event that it does not know makes a short line.
   */
  messageOf: (post: Post) => IncomingPayload;
  /** Whether a post that came to another address looks like one of this sender. */
  isFrom?: (post: Post) => boolean;
  /** How its requests show that it knows the signing secret, besides `X-Signature-256`. */
  proof?: Proof;
  /**
   * The name that it gives a delivery, which its repetition has too: within 24 hours the two make one message. An
   * `Idempotency-Key` takes its place.
   */
  deliveryOf?: (headers: Headers) => string | null;
  /** What it takes for success; 200 with the body `ok` unless said otherwise. */
  accepted?: (message: Message, request: Request) => SenderResponse;
  /** How it is told of an error, which the API has this status for; the JSON of the API unless said otherwise. */
  refused?: (error: DomainError, status: number) => SenderResponse;
  /**
   * Returns the lines that set the sender up to post to the address, as its users paste or read them. `secret` is null
   * for a webhook that asks for no proof.
   */
  setUp: (address: string, secret: string | null) => string[];
};
