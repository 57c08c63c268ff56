import { deactivate } from "../../src/accounts/people.ts";
import { addEmoji } from "../../src/emoji/emoji.ts";
import type { RestRoute } from "../support/rest-routes.ts";
import { restRoutes } from "../support/rest-routes.ts";
import { actor } from "../support/workspace.ts";
import { type PermissionStage, type Place, type SubjectName, subjects } from "../support/permission-stage.ts";

/** What an id can be of. */
type Kind = Exclude<keyof Place, "name">;

/** One way to name something by its id or name in a request. */
export type Naming = {
  title: string;
  route: RestRoute;
  /** The parameter of the path, or the field of the body. */
  name: string;
  kind: Kind;
  isInBody: boolean;
  /** What answers where nothing of this id may be known. */
  status: number;
};

/** Fields of bodies that take the id of something that is there. */
const fields: ReadonlyArray<[method: string, path: string, name: string, kind: Kind]> = [
  ["POST", "/channels/{channel}/members", "user_id", "user"],
  ["POST", "/channels/{channel}/messages", "reply_to_id", "message"],
  ["POST", "/channels/{channel}/messages", "thread_root_id", "message"],
  ["POST", "/webhooks", "channel_ids", "channel"],
  ["PATCH", "/webhooks/{subscription}", "channel_ids", "channel"],
];

/** Every way in which the routes name something. */
export const namings: readonly Naming[] = [
  ...restRoutes.flatMap((route) =>
    [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]): Naming => {
      const title = `the {${name}} of ${route.method} ${route.path}`;
      const kind = name as Kind;
      return { title, route, name, kind, isInBody: false, status: statusOf(kind, route) };
    }),
  ),
  ...fields.map(([method, path, name, kind]): Naming => {
    const route = restRoutes.find((each) => each.method === method && each.path === path);
    if (!route) throw new Error(`there is no ${method} ${path}`);
    return { title: `the ${name} of ${method} ${path}`, route, name, kind, isInBody: true, status: 422 };
  }),
];

/** An emoji that nobody has cannot be added, and is not there once it is removed. */
function statusOf(kind: Kind, { method }: RestRoute): number {
  if (kind !== "emoji") return 404;
  return method === "PUT" ? 422 : 204;
}

/** Routes that team admins may use in private channels that they are not in. */
const managing = ["POST /channels/{channel}/archive"].concat(
  restRoutes.filter(({ path }) => path.includes("/members")).map(({ method, path }) => `${method} ${path}`),
);

/**
 * Ids of things that are there, by what they are, of which the subject may learn nothing with this naming: unseen ones of
 * its own team, those of another, and messages of another channel.
 */
export type HiddenIds = (naming: Naming, subject: SubjectName) => Record<string, string>;

/** Makes what `HiddenIds` are of. */
export async function makeHidden(stage: PermissionStage): Promise<HiddenIds> {
  const { workspace, cast, closed, unseen } = stage;
  const places = [...unseen].filter(([title]) => title !== "no channel at all");
  const of = (kind: Kind) => Object.fromEntries(places.map(([title, place]) => [title, place[kind]]));
  const foreign = (kind: Kind) => unseen.get("a channel of another team")?.[kind] ?? "";

  await workspace.database.write((tx) => addEmoji(tx, cast.otherTeamId, { name: "umbrella" }, actor));
  const gone = await workspace.person(cast.teamId, "Gone");
  await workspace.database.write((tx) => deactivate(tx, gone, actor));
  const admin = await stage.client("admin");
  const deleted = await admin.post<{ data: { id: string } }>("/webhooks", {
    name: "deleted",
    url: "http://127.0.0.1:9/",
    events: ["message.deleted"],
  });
  await admin.del(`/webhooks/${deleted.json.data.id}`);
  const ofOwn = new Map<SubjectName, string>();
  for (const name of subjects) ofOwn.set(name, (await stage.ownPlace(cast[name], "GET")).message);

  return ({ kind, route, isInBody }, subject) => {
    const isManaged =
      managing.includes(`${route.method} ${route.path}`) && ["owner", "admin"].includes(subject);
    switch (kind) {
      case "channel":
        // A subscription may name every channel of its team, seen or not, unless WEBHOOKS_VISIBILITY says otherwise.
        if (isInBody) return { "a channel of another team": foreign("channel") };
        return { ...of("channel"), ...(!isManaged && { "a private channel": closed.channel }) };
      case "message":
        return {
          ...of("message"),
          "a message of a private channel": closed.message,
          "a message of one's own in another channel": ofOwn.get(subject) ?? "",
        };
      case "user":
        if (isInBody) return { "somebody of another team": foreign("user"), "somebody deactivated": gone.id };
        return {
          ...of("user"),
          "somebody of the team": cast.stranger.id,
          "another team's owner": cast.outsider.id,
        };
      case "subscription":
        return { "one of another team": foreign("subscription"), "one deleted": deleted.json.data.id };
      case "emoji":
        return { "one of another team": ":umbrella:" };
    }
  };
}
