"use strict";

// Swagger UI has a dark look but lets only its own switch choose it; here the reader's preference does, as elsewhere.
const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();

// Swagger UI filters by tag alone.
function matches(operation, words) {
  const facts = [operation.get("method"), operation.get("path"), operation.getIn(["operation", "summary"])];
  const text = [...facts, ...operation.getIn(["operation", "tags"], [])].join(" ").toLowerCase();
  return words.every((word) => text.includes(word));
}

function opsFilter(taggedOperations, phrase) {
  const words = phrase.toLowerCase().split(/\s+/);
  return taggedOperations
    .map((tag) => tag.update("operations", (all) => all.filter((operation) => matches(operation, words))))
    .filter((tag) => tag.get("operations").size > 0);
}

// Swagger UI reads the document as YAML, and to resolve any part of it makes all of it anew: seconds each time. Ours is
// JSON without circles, whose references all lead to its own parts.
let described = {};

const parsed = (_parse, { specActions }) => (text) => {
  described = JSON.parse(text);
  specActions.updateJsonSpec(described);
};

const resolved = (_resolve, { specActions, specSelectors }) => (path) => {
  if (!specSelectors.specResolvedSubtree(path)) specActions.updateResolvedSubtree(path, whole(found(path)));
};

function found(path) {
  return path.reduce((part, key) => part?.[key], described);
}

/** A part of the document with what its references lead to. */
function whole(part) {
  if (Array.isArray(part)) return part.map(whole);
  if (part === null || typeof part !== "object") return part;
  const { $ref, ...others } = part;
  const own = Object.fromEntries(Object.entries(others).map(([key, value]) => [key, whole(value)]));
  return $ref ? { ...whole(found($ref.slice(2).split("/"))), ...own, $$ref: $ref } : own;
}

function isFiltered(layoutSelectors) {
  const phrase = layoutSelectors.currentFilter();
  return typeof phrase === "string" && phrase.trim() !== "";
}

const pages = ({ React }) => {
  const element = React.createElement;

  function FilterContainer({ layoutSelectors, layoutActions }) {
    const phrase = layoutSelectors.currentFilter();
    return element("div", { className: "filter wrapper" }, element("input", {
      className: "operation-filter-input",
      type: "search",
      placeholder: "Filter by method, path, summary or tag",
      "aria-label": "Filter the operations",
      value: typeof phrase === "string" ? phrase : "",
      onChange: (event) => layoutActions.updateFilter(event.target.value),
    }));
  }

  // Eleven answers with the same headers and the same kind of example fill eight screens. A refusal shows what it
  // means; its headers and its example open by a button.
  const shortRefusal = (Response, system) => (props) => {
    const [isOpen, setOpen] = React.useState(props.code < "400");
    if (isOpen) return element(Response, props);
    const Markdown = system.getComponent("Markdown", true);
    return element("tr", { className: "response", "data-code": props.code },
      element("td", { className: "response-col_status" }, props.code),
      element("td", { className: "response-col_description" },
        element(Markdown, { source: props.response.get("description") })),
      element("td", { className: "response-col_links" },
        element("button", {
          className: "btn",
          type: "button",
          "aria-label": `Show the headers and an example of ${props.code}`,
          onClick: () => setOpen(true),
        }, "Show")));
  };

  // The filter is about operations; the events of webhooks would stay below whatever it finds.
  const withoutFilter = (Webhooks) => (props) =>
    props.layoutSelectors.currentFilter() ? null : element(Webhooks, props);

  // The groups of operations are folded until one is opened, or something is looked for.
  const folded = (OperationTag) => (props) => {
    const docExpansion = isFiltered(props.layoutSelectors) ? "list" : "none";
    return element(OperationTag, { ...props, getConfigs: () => ({ ...props.getConfigs(), docExpansion }) });
  };

  return {
    fn: { opsFilter },
    statePlugins: { spec: { wrapActions: { parseToJson: parsed, requestResolvedSubtree: resolved } } },
    components: { FilterContainer },
    wrapComponents: { OperationTag: folded, response: shortRefusal, Webhooks: withoutFilter },
  };
};

// Relative to the page, so that it also works where a proxy puts the service under a prefix.
window.ui = SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  filter: true,
  docExpansion: "none",
  plugins: [pages],
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  validatorUrl: null,
});
