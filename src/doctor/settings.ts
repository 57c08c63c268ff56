import { type Config, readConfig } from "../config.ts";
import { whyTooShort } from "../scim/credential.ts";
import { unknownSettings, whyUnknown } from "../unknown-settings.ts";
import { type Finding, failed, ok, type Patient, reasonOf, warning } from "./finding.ts";

/** Checks that every setting parses, and warns of values that are allowed and unsafe. */
export function checkSettings({ dataDir, environment, config }: Patient): Finding[] {
  if (!config) return [failed("settings", whyInvalid({ dataDir, environment }))];
  const tooShort = config.scimToken === "" ? undefined : whyTooShort(config.scimToken);
  const findings = [
    ...unknownSettings(environment).map((unknown) => warning("settings", whyUnknown(unknown))),
    ...(tooShort === undefined ? [] : [warning("SCIM token", tooShort)]),
    ...(config.webhooksBlockPrivateUrls
      ? []
      : [
          warning(
            "private addresses",
            "WEBHOOKS_BLOCK_PRIVATE_URLS is false: whoever may create a subscription can reach every address that " +
              "this machine reaches, the services of your network among them.",
            "Leave it at true, unless everybody with a token for webhooks is trusted with that network.",
          ),
        ]),
  ];
  const valid = [ok("settings", "every setting is valid"), ...allowedAddresses(config)];
  return findings.length === 0 ? valid : findings;
}

function allowedAddresses({ webhooksAllowAddresses: allowed }: Config): Finding[] {
  if (allowed.length === 0) return [];
  const networks = allowed.map(({ network, prefix }) => `${network}/${prefix}`).join(", ");
  return [ok("allowed addresses", `deliveries may go to public addresses, and to ${networks}`)];
}

function whyInvalid({ dataDir, environment }: Pick<Patient, "dataDir" | "environment">): string {
  try {
    readConfig(dataDir, environment);
  } catch (error) {
    return reasonOf(error).replaceAll("\n", " ");
  }
  return "The settings changed while they were checked. Run doctor again.";
}
