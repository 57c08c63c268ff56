import { version } from "../../package.json" with { type: "json" };
import type { ExecutableFormat } from "./executable-format.ts";

/** One binary of a release: what it is called, Bun's name for what it runs on, and what the file has to be. */
export type Target = { file: string; bun: string; format: ExecutableFormat };

/** `baseline` is for processors without AVX2, `musl` for Alpine and others without glibc. */
export const targets: Target[] = [
  target("linux-x64", "linux-x64", "ELF x64"),
  target("linux-x64-baseline", "linux-x64-baseline", "ELF x64"),
  target("linux-arm64", "linux-aarch64", "ELF arm64"),
  target("linux-x64-musl", "linux-x64-musl", "ELF x64"),
  target("linux-x64-musl-baseline", "linux-x64-musl-baseline", "ELF x64"),
  target("linux-arm64-musl", "linux-aarch64-musl", "ELF arm64"),
  target("darwin-x64", "darwin-x64", "Mach-O x64"),
  target("darwin-arm64", "darwin-aarch64", "Mach-O arm64"),
  target("windows-x64", "windows-x64", "PE x64"),
];

function target(platform: string, bun: string, format: ExecutableFormat): Target {
  return { file: `parley-${version}-${platform}${format === "PE x64" ? ".exe" : ""}`, bun, format };
}
