// Runs in the browser, after swagger-ui-bundle.js.

const channels = "/api/v1/channels";

// A channel's name is free once only, so the example gets a new one each time.
const freshChannel = (example) => ({
  ...example,
  name: `${example.name} ${Math.random().toString(36).slice(2, 8)}`,
});

const reference = await (await fetch("openapi.json")).json();
const createChannel = reference.paths[channels].post.requestBody.content["application/json"];
const { example } = createChannel;
createChannel.example = freshChannel(example);

const ui = SwaggerUIBundle({
  spec: reference,
  dom_id: "#reference",
  deepLinking: true,
  displayRequestDuration: true,
  filter: true,
  defaultModelsExpandDepth: 0,
  // By default the page sends its URL to a validator on the internet.
  validatorUrl: null,
  plugins: [hiddenToken],
  responseInterceptor(response) {
    if (response.status === 201 && new URL(response.url).pathname.endsWith(channels)) renewExample();
    return response;
  },
});

/** Puts another name into the example of a new channel, unless somebody has edited it. */
function renewExample() {
  const { oas3Selectors, oas3Actions } = ui.getSystem();
  const sent = oas3Selectors.requestBodyValue(channels, "post");
  if (sent !== undefined && sent !== JSON.stringify(createChannel.example, null, 2)) return;
  createChannel.example = freshChannel(example);
  const value = JSON.stringify(createChannel.example, null, 2);
  oas3Actions.setRequestBodyValue({ value, pathMethod: [channels, "post"] });
}

/** Keeps the token off the screen, where it is typed and in the curl command that a request is shown as. */
function hiddenToken({ React }) {
  return {
    wrapComponents: {
      Input: (Original) => (props) =>
        React.createElement(Original, {
          ...props,
          ...(props.id === "auth-bearer-value" && { type: "password", autoComplete: "off" }),
        }),
      curl:
        (Original) =>
        ({ request, ...props }) => {
          const header = ["headers", "Authorization"];
          const shown = request.hasIn(header) ? request.setIn(header, "Bearer <ACCESS_TOKEN>") : request;
          return React.createElement(Original, { ...props, request: shown });
        },
    },
  };
}

const dark = matchMedia("(prefers-color-scheme: dark)");
const paint = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", paint);
paint();
