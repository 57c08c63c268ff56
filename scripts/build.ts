import { compile } from "./compile.ts";

// `bun run build`: compiles dist/parley for this machine.
compile("dist/parley");
