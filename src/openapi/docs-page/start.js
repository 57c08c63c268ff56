// Runs in the browser, after swagger-ui-bundle.js.
SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  displayRequestDuration: true,
  filter: true,
  defaultModelsExpandDepth: 0,
  // By default the page sends its URL to a validator on the internet.
  validatorUrl: null,
});
