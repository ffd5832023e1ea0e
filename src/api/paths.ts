import type { HttpBindings } from "@hono/node-server";
import { getPath } from "hono/utils/url";
import type { Route } from "./operation.ts";

/** Converts `{name}` to Hono's notation. */
export const honoPath = (path: string): string => path.replace(/\{(\w+)\+\}/g, ":$1{.+}").replace(/\{(\w+)\}/g, ":$1");

/** Returns a function that lists the allowed methods of a path. */
export function methodsByPath(routes: Route[]): (path: string) => string[] {
  const patterns = new Map<RegExp, string[]>();
  for (const [path, group] of Map.groupBy(routes, ({ operation }) => operation.path)) {
    const pattern = path
      .replace(/[.*+?^$()|[\]\\]/g, "\\$&")
      .replace(/\{\w+\\\+\}/g, ".+")
      .replace(/\{\w+\}/g, "[^/]+");
    patterns.set(
      new RegExp(`^${pattern}$`),
      group.map(({ operation }) => operation.method.toUpperCase()),
    );
  }
  return (path) => [
    ...new Set([...patterns].filter(([pattern]) => pattern.test(path)).flatMap(([, methods]) => methods)),
  ];
}

/**
 * Returns the path as sent, so that parameters are decoded exactly once: a URL parser resolves `%2e%2e` and `..`, and
 * Hono matches the decoded path, where `%0A` is a line break that no pattern matches.
 */
export function sentPath(request: Request, options?: { env?: HttpBindings }): string {
  const target = options?.env?.incoming?.url;
  if (target === undefined || !target.startsWith("/")) return getPath(request);
  return pathOf(target);
}

/** The path of a request target, without the query. */
export function pathOf(target: string): string {
  const end = target.indexOf("?");
  return end < 0 ? target : target.slice(0, end);
}
