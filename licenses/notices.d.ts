// Imported with { type: "file" }, it is the path of a file that the binary carries.
declare module "*/THIRD_PARTY_NOTICES.txt" {
  const path: string;
  export default path;
}
