import { pathWithoutBase, pathWithBase } from "../base-path.ts";
import type { AssetFile, AssetFiles } from "../files/port.ts";
import { findTarget } from "./html-handling.ts";
import type { AssetRouting } from "./routing.ts";

/** The parts of a request that determine its asset. */
export interface AssetRequest {
  method: string;
  url: URL;
  /** True if Sec-Fetch-Mode is "navigate". */
  isNavigation: boolean;
}

/** The response to a request, without headers that depend on the file's content. */
export type ResolvedAsset =
  | { kind: "file"; file: AssetFile; status: 200 | 404 }
  | { kind: "redirect"; status: number; location: string }
  | { kind: "status"; status: 404 | 405 };

/** Returns undefined if no asset matches the request. */
export function resolveAsset(
  { method, url }: Pick<AssetRequest, "method" | "url">,
  files: AssetFiles,
  routing: AssetRouting,
): ResolvedAsset | undefined {
  const { basePath } = routing;
  if (pathWithoutBase(basePath, decodePath(url.pathname)) === undefined) return undefined;
  const rule = routing.redirectOf(url.host, url.pathname);
  if (rule !== undefined && rule.status !== 200)
    return { kind: "redirect", status: rule.status, location: locationOf(new URL(rule.to, url), url) };
  const pathname = rule === undefined ? url.pathname : new URL(rule.to, url).pathname;
  const path = decodePath(pathname);
  const assetPath = pathWithoutBase(basePath, path);
  const target =
    assetPath === undefined
      ? undefined
      : findTarget(assetPath, routing, {
          find: files.find,
          maxPathLength: files.maxPathLength,
          contentOf: ({ etag }) => etag,
        });
  // A matching rule answers the request even if its destination does not exist.
  if (target === undefined) return rule && { kind: "status", status: 404 };
  if (method !== "GET" && method !== "HEAD") return { kind: "status", status: 405 };
  // Each file has one canonical URL: the encoded form of its path.
  const canonical = encodePath("redirect" in target ? pathWithBase(basePath, target.redirect) : path);
  if ("redirect" in target || canonical !== pathname)
    return { kind: "redirect", status: 307, location: canonical + url.search };
  return { kind: "file", file: target.file, status: target.status };
}

/** True if assets, rather than the worker, answer a request that matches no pattern of `run_worker_first`. */
export function isServedByAssets(request: AssetRequest, files: AssetFiles, routing: AssetRouting): boolean {
  const isMissing = routing.hasPatterns || (routing.navigationPrefersAssets && request.isNavigation);
  return resolveAsset(request, files, isMissing ? routing : { ...routing, notFoundHandling: "none" }) !== undefined;
}

/**
 * On the same host, the location is relative, so that it is correct behind a proxy with another scheme. Keeps the query
 * unless the rule has one.
 */
function locationOf(to: URL, request: URL): string {
  const search = to.search === "" ? request.search : to.search;
  return `${to.host === request.host ? "" : to.origin}${to.pathname}${search}${to.hash}`;
}

const mapSegments = (path: string, change: (segment: string) => string) =>
  path
    .split("/")
    .map((segment) => {
      try {
        return change(segment);
      } catch {
        // Keep invalid percent-encoding.
        return segment;
      }
    })
    .join("/");

const decodePath = (pathname: string) => mapSegments(pathname, decodeURIComponent).replace(/\/+/g, "/");
const encodePath = (path: string) => mapSegments(path, encodeURIComponent);
