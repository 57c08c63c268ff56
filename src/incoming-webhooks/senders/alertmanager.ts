import { linesOfAlerts, titleOfAlerts } from "./alerts.ts";
import { bearer } from "./bearer.ts";
import { type Fields, isObject, objectOf, textIn } from "./fields.ts";
import type { Sender } from "./sender.ts";

/** Alertmanager's `webhook_configs`, in the form that it calls version 4. */
export const alertmanager: Sender = {
  suffix: "alertmanager",
  name: "Alertmanager",
  messageOf: ({ payload }) => {
    const group = objectOf(payload);
    const lines = [titleOfAlerts(group), ...linesOfAlerts(group), linkOf(group)];
    return { text: lines.filter(Boolean).join("\n"), username: null, iconUrl: null };
  },
  isFrom: ({ payload }) =>
    isObject(payload) && Array.isArray(payload.alerts) && "groupKey" in payload && !("orgId" in payload),
  proof: bearer,
  setUp: (address, secret) => [
    "Add to alertmanager.yml:",
    "",
    "  receivers:",
    "    - name: parley",
    "      webhook_configs:",
    `        - url: ${address}`,
    ...(secret === null
      ? []
      : ["          http_config:", "            authorization:", `              credentials: ${secret}`]),
  ],
};

/** Where the group can be seen and silenced. Without an external URL Alertmanager names its host, which few can reach. */
function linkOf(group: Fields): string {
  const url = textIn(group, "externalURL");
  if (!/^https?:\/\//.test(url) || url.length > 1000) return "";
  const receiver = encodeURIComponent(textIn(group, "receiver").slice(0, 200).toWellFormed());
  return `Alertmanager: ${url.replace(/\/$/, "")}/#/alerts?receiver=${receiver}`;
}
