import { processEnvironment } from "../src/config.ts";
import { makeRoomForRequests } from "./room-for-requests.ts";

// Before anything else is loaded: this may re-execute the program.
makeRoomForRequests(process.argv.slice(2), processEnvironment);
await import("./run.ts");
