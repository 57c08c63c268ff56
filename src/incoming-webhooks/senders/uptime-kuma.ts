import { bearer } from "./bearer.ts";
import { clipped, excerptOf } from "./event-text.ts";
import { type Fields, isObject, objectIn, objectOf, textIn } from "./fields.ts";
import type { Sender } from "./sender.ts";

/** What Uptime Kuma's numbers for the status of a monitor mean. */
const states = ["down", "up", "pending", "under maintenance"];

/** Uptime Kuma's notification "Webhook", as JSON or as a form. */
export const uptimeKuma: Sender = {
  suffix: "uptime-kuma",
  name: "Uptime Kuma",
  field: "data",
  messageOf: ({ payload }) => {
    const fields = objectOf(payload);
    const monitor = objectIn(fields, "monitor");
    const heartbeat = objectIn(fields, "heartbeat");
    const lines = [titleOf(fields, monitor, heartbeat), targetOf(monitor), timeOf(heartbeat)];
    return { text: lines.filter(Boolean).join("\n"), username: null, iconUrl: null };
  },
  isFrom: ({ payload }) =>
    isObject(payload) && "heartbeat" in payload && "monitor" in payload && "msg" in payload,
  proof: bearer,
  setUp: (address, secret) => [
    "In Uptime Kuma under Settings, Notifications, set up one of the type Webhook:",
    "",
    `  Post URL: ${address}`,
    "  Request Body: Preset - application/json",
    ...(secret === null ? [] : [`  Additional Headers: {"Authorization": "Bearer ${secret}"}`]),
  ],
};

/** A test and the end of a certificate have no heartbeat: they say what they have to say in `msg`. */
function titleOf(fields: Fields, monitor: Fields, heartbeat: Fields): string {
  const name = excerptOf(textIn(monitor, "name"));
  const state = states[Number(textIn(heartbeat, "status") || Number.NaN)];
  if (name === "" || state === undefined) {
    return clipped(textIn(fields, "msg"), 1000) || "Uptime Kuma sent a notification without text";
  }
  const reason = clipped(textIn(heartbeat, "msg"), 1000);
  return `${name} is ${state}${reason && `: ${reason}`}`;
}

/** A monitor that has no URL has "https://" in its place. */
function targetOf(monitor: Fields): string {
  const url = clipped(textIn(monitor, "url"), 1000);
  if (/^https?:\/\/./i.test(url)) return url;
  const host = excerptOf(textIn(monitor, "hostname"));
  const port = excerptOf(textIn(monitor, "port"));
  return host && port ? `${host}:${port}` : host;
}

function timeOf(heartbeat: Fields): string {
  const at = excerptOf(textIn(heartbeat, "localDateTime"));
  const zone = excerptOf(textIn(heartbeat, "timezone"));
  if (at === "") return excerptOf(textIn(heartbeat, "time")) && `${excerptOf(textIn(heartbeat, "time"))} UTC`;
  return zone ? `${at} (${zone})` : at;
}
