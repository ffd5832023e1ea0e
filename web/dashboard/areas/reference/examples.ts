import type { Method } from "./document.ts";

export interface RequestValues {
  method: Method;
  path: string;
  params: Record<string, string>;
  query: Record<string, string>;
  /** Empty: no body. */
  body: string;
  isJson: boolean;
}

const API_BASE = "/client/v4";

/** A placeholder without a value keeps its name, and parameters without a value are omitted. */
export function requestUrl({ path, params, query }: RequestValues): string {
  const filledPath = path.replace(/\{(\w+)\}/g, (placeholder, name: string) => {
    const value = params[name] ?? "";
    return value === "" ? placeholder : encodeURIComponent(value);
  });
  const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== "")).toString();
  return `${API_BASE}${filledPath}${search === "" ? "" : `?${search}`}`;
}

/** Puts text in single quotes for a POSIX shell. */
const quoted = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** Returns the request as a command; `origin` is the origin of the API. */
export function curlOf(request: RequestValues, origin: string): string {
  const { method, body, isJson } = request;
  return [
    `curl${method === "get" ? "" : ` -X ${method.toUpperCase()}`} ${quoted(origin + requestUrl(request))}`,
    '-H "Authorization: Bearer $API_TOKEN"',
    ...(body === "" ? [] : [`${isJson ? "--json" : "--data-binary"} ${quoted(body)}`]),
  ].join(" \\\n  ");
}

/** Returns the request as JavaScript. */
export function fetchOf(request: RequestValues, origin: string): string {
  const { method, body, isJson } = request;
  const lines = [
    ...(method === "get" ? [] : [`  method: ${JSON.stringify(method.toUpperCase())},`]),
    `  headers: { authorization: \`Bearer \${token}\`${body !== "" && isJson ? ', "content-type": "application/json"' : ""} },`,
    ...(body === "" ? [] : [`  body: ${isJson ? `JSON.stringify(${body})` : JSON.stringify(body)},`]),
  ];
  return `const response = await fetch(${JSON.stringify(origin + requestUrl(request))}, {\n${lines.join("\n")}\n});`;
}
