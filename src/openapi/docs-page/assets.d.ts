// Imported with { type: "file" }, each is the path of a file embedded in the binary.
declare module "swagger-ui-dist/swagger-ui-bundle.js" {
  const path: string;
  export default path;
}

declare module "swagger-ui-dist/swagger-ui.css" {
  const path: string;
  export default path;
}

declare module "*.js" {
  const path: string;
  export default path;
}

declare module "*.css" {
  const path: string;
  export default path;
}
