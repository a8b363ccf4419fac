"use strict";

// Swagger UI has a dark theme, which a class of the page switches on.
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();

// The filter box finds operations by path, method, summary and tag; Swagger UI's own compares tags alone.
function opsFilter(taggedOps, phrase) {
  const words = phrase.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = (tag) => (op) => {
    const text = [tag, op.get("method"), op.get("path"), op.getIn(["operation", "summary"])].join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  };
  return taggedOps
    .map((group, tag) => group.update("operations", (operations) => operations.filter(matches(tag))))
    .filter((group) => group.get("operations").size > 0);
}

// A refusal is one row: its status and its codes, each with the page that explains it. All refusals have one shape and
// the same headers, which "Refusals" at the top of the page describes; an example under each would fill screens.
function refusal(Original, system) {
  const create = system.React.createElement;
  return (props) => {
    if (Number(props.code) < 400 || !props.path?.startsWith("/")) {
      return create(Original, props);
    }
    const codes = [...(props.response.get("description") ?? "").matchAll(/^- `(\w+)`/gm)].map((found) => found[1]);
    const links = codes.flatMap((code, n) => [n ? ", " : "", create("a", { key: code, href: `problems/${code}` }, code)]);
    return create(
      "tr",
      { className: "response refusal", "data-code": props.code },
      create("td", { className: "response-col_status" }, props.code),
      create("td", { className: "response-col_description" }, ...links),
      create("td", { className: "response-col_links" }),
    );
  };
}

// The headers of an answer are a list to unfold.
function folded(Original, system) {
  const create = system.React.createElement;
  return (props) =>
    props.headers?.size
      ? create("details", { className: "headers" }, create("summary", null, "Headers"), create(Original, props))
      : null;
}

// Swagger UI opens the operation of the address when it starts, and not when a link of the page changes the address.
window.addEventListener("hashchange", () => {
  if (document.activeElement?.closest(".sign-in")) {
    window.location.reload();
  }
});

// Relative to the page, so that it also works where a proxy puts the service under a prefix.
window.ui = SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  filter: true,
  plugins: [() => ({ fn: { opsFilter }, wrapComponents: { response: refusal, headers: folded } })],
  tryItOutEnabled: true,
  validatorUrl: null,
});
