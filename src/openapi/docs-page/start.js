// Runs in the reader's browser, once swagger-ui-bundle.js has been loaded.
SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  displayRequestDuration: true,
  filter: true,
  defaultModelsExpandDepth: 0,
  // Without this the page would send its address to a validator on the internet.
  validatorUrl: null,
});
