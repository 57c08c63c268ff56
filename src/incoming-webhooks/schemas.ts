import { Type } from "@sinclair/typebox";
import { bodyLengthMax } from "../messages/schemas.ts";

/** How long a display name and the address of an icon may be, in code points (specification part 8). */
export const usernameLengthMax = 255;
export const iconUrlLengthMax = 2048;

/** The headers that an incoming webhook looks at, for the document. */
export const IncomingHeaders = Type.Object({
  "X-Signature-256": Type.Optional(
    Type.String({
      description:
        "The HMAC-SHA256 of the raw body in hex, bare or after `sha256=`. Needed where the webhook has a signing secret, which is the key.",
    }),
  ),
});

/**
 * The form that an incoming webhook takes as well, for the document. Its field is not a property: the documentation page
 * would take the JSON in it apart, and generators leave out a type that only forms have.
 */
export const IncomingForm = Type.Record(Type.String(), Type.String(), {
  description: "A form whose field `payload` holds the JSON as a text.",
});

/** The body of an incoming webhook, for the document: what it takes is told by `checkPayload`. */
export const IncomingBody = Type.Object({
  text: Type.Optional(Type.String({ maxLength: bodyLengthMax, description: "The message." })),
  body: Type.Optional(
    Type.String({ maxLength: bodyLengthMax, description: "The message, where `text` is empty." }),
  ),
  username: Type.Optional(
    Type.String({ maxLength: usernameLengthMax, description: "Shown instead of the bot's name." }),
  ),
  icon_url: Type.Optional(
    Type.String({
      maxLength: iconUrlLengthMax,
      description: "Shown instead of the bot's picture; never fetched here.",
    }),
  ),
});
