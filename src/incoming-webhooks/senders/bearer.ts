import { isSameSecret, type Proof } from "../signature.ts";

/** For senders that cannot sign and can send a secret: the webhook's, as the credentials of `Authorization: Bearer`. */
export const bearer: Proof = {
  isGiven: (headers, _rawBody, secret) =>
    isSameSecret(/^bearer +(\S+)$/i.exec(headers.get("authorization") ?? "")?.[1] ?? null, secret),
  headers: ["Authorization"],
  remedy: "Send the webhook's signing secret as the header Authorization: Bearer whsec_….",
};
