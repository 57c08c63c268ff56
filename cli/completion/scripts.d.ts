// Bun embeds these files in the binary and gives their paths.
declare module "*.bash" {
  const path: string;
  export default path;
}
declare module "*.zsh" {
  const path: string;
  export default path;
}
declare module "*.fish" {
  const path: string;
  export default path;
}
