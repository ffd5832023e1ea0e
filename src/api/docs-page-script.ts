/**
 * Browser script of the operations page: filters, and loads the details of an operation from openapi.json when it is
 * opened.
 */
export const DOCS_SCRIPT = String.raw`
const filter = document.getElementById("filter");
const none = document.getElementById("none");
filter.addEventListener("input", () => {
  const words = filter.value.toLowerCase().split(" ").filter(Boolean);
  let all = 0;
  for (const section of document.querySelectorAll("section")) {
    let shown = 0;
    for (const operation of section.querySelectorAll("details")) {
      const text = (section.firstElementChild.textContent + " " + operation.id + " " + operation.firstElementChild.textContent).toLowerCase();
      operation.hidden = !words.every((word) => text.includes(word));
      if (!operation.hidden) shown++;
    }
    section.hidden = shown === 0;
    all += shown;
  }
  none.hidden = all > 0;
});

let description;
const described = () => (description ??= fetch("openapi.json").then((answer) => answer.json()));

const element = (name, text, ...children) => {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  made.append(...children);
  return made;
};

const typeOf = (schema = {}) => {
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
  const either = schema.anyOf ?? schema.oneOf;
  if (either) return [...new Set(either.map(typeOf))].join(" | ");
  const list = "list of " + (schema.items && typeOf(schema.items) || "anything");
  return [schema.type].flat().filter(Boolean).map((type) => (type === "array" ? list : type)).join(" | ");
};

const limitsOf = ({ default: preset, minimum, maximum, maxLength, maxItems } = {}) =>
  [["default", preset], ["min", minimum], ["max", maximum], ["max", maxLength && maxLength + " characters"], ["max", maxItems && maxItems + " items"]]
    .filter(([, value]) => value !== undefined && Math.abs(value) !== Number.MAX_SAFE_INTEGER).map(([what, value]) => what + " " + value).join(", ");

const table = (title, rows) => rows.length === 0 ? [] : [element("h3", title), element("table", "", ...rows.map(([name, schema, required]) =>
  element("tr", "", element("td", "", element("code", name)), element("td", typeOf(schema)), element("td", [required ? "required" : "", limitsOf(schema), schema?.description].filter(Boolean).join(", ")))))];

const fieldsOf = ({ properties = {}, required = [] } = {}) => Object.entries(properties).map(([name, schema]) => [name, schema, required.includes(name)]);

/** Returns the smallest value that matches a schema. */
const sample = (schema = {}) => {
  const either = schema.anyOf ?? schema.oneOf;
  if (either) return sample(either.at(-1));
  if (schema.enum) return schema.enum[0];
  const type = [schema.type].flat()[0];
  if (type === "object") return Object.fromEntries((schema.required ?? []).map((name) => [name, sample(schema.properties?.[name])]));
  if (type === "array") return [sample(schema.items)];
  return { string: "…", integer: schema.minimum ?? 1, number: schema.minimum ?? 1, boolean: true }[type] ?? null;
};

const curl = (method, path, body) => [
  "curl" + (method === "get" ? "" : " -X " + method.toUpperCase()) + " '" + location.origin + new URL(".", location).pathname.replace(/\/$/, "") + path + "'",
  '-H "Authorization: Bearer $API_TOKEN"',
  ...(body ? ["--json '" + JSON.stringify(sample(body)) + "'"] : []),
].join(" \\\n  ");

async function tell(operation) {
  const { paths } = await described();
  for (const [path, methods] of Object.entries(paths)) for (const [method, { operationId, parameters = [], requestBody }] of Object.entries(methods)) {
    if (operationId !== operation.id || operation.children.length > 1) continue;
    const body = requestBody?.content["application/json"]?.schema;
    const forms = body?.anyOf ?? body?.oneOf ?? (body ? [body] : []);
    const more = element("div", "",
      ...table("Query", parameters.filter((each) => each.in === "query").map((each) => [each.name, each.schema, each.required])),
      ...forms.flatMap((form, i) => table(i === 0 ? "JSON body" : "or", form.type === "array" ? [["", form, true]] : fieldsOf(form))),
      element("pre", curl(method, path, body)));
    more.className = "more";
    operation.append(more);
  }
}

for (const operation of document.querySelectorAll("details")) operation.addEventListener("toggle", () => operation.open && tell(operation));

const openNamed = () => {
  const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (named?.tagName === "DETAILS") named.open = true;
};
addEventListener("hashchange", openNamed);
openNamed();`;
