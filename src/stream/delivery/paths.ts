import type { DeliveryRoute } from "./route.ts";

/** The target of a request: `<base>/<id>/<rest>?<query>`. Undefined if it is not the URL of a video. */
export interface VideoPath {
  id: string;
  /** Without a leading or trailing slash. */
  rest: string;
  query: string;
}

/** A uid or a JSON Web Token, which always starts with "eyJ", the base64url form of `{"`. */
const ID_PATTERN = /^(?:[0-9a-f]{32}|eyJ[\w-]*\.[\w-]+\.[\w-]*)$/;
/** More than a token with five access rules needs. */
const MAX_ID_LENGTH = 8192;

export function parseVideoPath(url: string, base: string): VideoPath | undefined {
  const pathStart = base.length + 1;
  if (url.charCodeAt(base.length) !== SLASH_CODE || !url.startsWith(base)) return undefined;
  const mark = url.indexOf("?", pathStart);
  const path = mark === -1 ? url : url.slice(0, mark);
  const slash = path.indexOf("/", pathStart);
  const id = slash === -1 ? path.slice(pathStart) : path.slice(pathStart, slash);
  if (id.length < 32 || id.length > MAX_ID_LENGTH || !ID_PATTERN.test(id)) return undefined;
  const rest =
    slash === -1 ? "" : path.slice(slash + 1, path.endsWith("/") && path.length > slash + 1 ? -1 : undefined);
  return { id, rest, query: mark === -1 ? "" : url.slice(mark + 1) };
}

const SLASH_CODE = 47;

export interface RouteMatch {
  route: DeliveryRoute;
  params: Record<string, string>;
}

/** "method": the path exists, but not for this method. */
type FindRoute = (method: string, rest: string) => RouteMatch | "method" | undefined;

/** If several routes match, the first one wins. */
export function routeFinder(routes: readonly DeliveryRoute[]): FindRoute {
  const routesByHead = Map.groupBy(routes.map(compile), ({ head }) => head);
  return (method, rest) => {
    const candidates = routesByHead.get(headOf(rest));
    let mismatch: "method" | undefined;
    for (const { route, match } of candidates ?? []) {
      const params = match(rest);
      if (params === undefined) continue;
      if ((route.method ?? "GET") === (method === "HEAD" ? "GET" : method)) return { route, params };
      mismatch = "method";
    }
    return mismatch;
  };
}

const headOf = (path: string) => path.slice(0, (path.indexOf("/") + 1 || path.length + 1) - 1);

/**
 * `segments/{rendition}/{file}`, `captions/{language}.vtt`: a parameter in braces is one segment of the path or a part
 * of it. The first segment contains no parameter.
 */
function compile(route: DeliveryRoute): {
  route: DeliveryRoute;
  head: string;
  match(path: string): Record<string, string> | undefined;
} {
  const head = headOf(route.path);
  const names = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  if (names.length === 0) return { route, head, match: (path) => (path === route.path ? {} : undefined) };
  const pattern = new RegExp(
    `^${route.path
      .split(/\{\w+\}/)
      .map((text) => text.replace(/[.*+?^$()|[\]\\]/g, "\\$&"))
      .join("([^/]+)")}$`,
  );
  const match = (path: string) => {
    const values = pattern.exec(path);
    if (values === null) return undefined;
    const params: Record<string, string> = {};
    for (const [index, name] of names.entries()) {
      const value = decodeText(values[index + 1]!);
      if (value === undefined) return undefined;
      params[name] = value;
    }
    return params;
  };
  return { route, head, match };
}

function decodeText(text: string): string | undefined {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
