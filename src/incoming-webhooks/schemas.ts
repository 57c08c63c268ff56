import { Type } from "@sinclair/typebox";
import { bodyLengthMax, IdempotencyHeaders } from "../messages/schemas.ts";

/** Maximum lengths of the display name and of the icon URL, in code points (specification part 8). */
export const usernameLengthMax = 255;
export const iconUrlLengthMax = 2048;

/** The headers that an incoming webhook reads, for the OpenAPI document. */
export const IncomingHeaders = Type.Object({
  ...IdempotencyHeaders.properties,
  "X-Signature-256": Type.Optional(
    Type.String({
      description:
        "The hex HMAC-SHA256 of the raw body, bare or after `sha256=`. Required if the webhook has a signing secret, which is the key.",
    }),
  ),
});

/**
 * The form that an incoming webhook accepts too, for the OpenAPI document. `payload` is not declared as a property: the
 * documentation page would parse its JSON, and generators omit types that only forms use.
 */
export const IncomingForm = Type.Record(Type.String(), Type.String(), {
  description: "A form whose field `payload` holds the JSON as text.",
});

/** The body of an incoming webhook, for the OpenAPI document only: `checkPayload` validates it. */
export const IncomingBody = Type.Object({
  text: Type.Optional(Type.String({ maxLength: bodyLengthMax, description: "The message." })),
  body: Type.Optional(
    Type.String({ maxLength: bodyLengthMax, description: "The message if `text` is empty." }),
  ),
  username: Type.Optional(
    Type.String({ maxLength: usernameLengthMax, description: "Shown instead of the bot's name." }),
  ),
  icon_url: Type.Optional(
    Type.String({
      maxLength: iconUrlLengthMax,
      description: "Shown instead of the bot's picture. The server never fetches it.",
    }),
  ),
});
