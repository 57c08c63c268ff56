import { processEnvironment } from "../src/config.ts";
import { makeRoomForRequests } from "./room-for-requests.ts";

// Before anything else is loaded: it may start the program anew.
makeRoomForRequests(process.argv.slice(2), processEnvironment);
await import("./run.ts");
