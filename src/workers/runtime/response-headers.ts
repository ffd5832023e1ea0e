import { HOP_BY_HOP_FIELDS } from "../../protocol/http/index.ts";

/** The host that serves a worker. It determines which origin-wide headers and cookies the worker may set. */
export type Site =
  /** `<script>.<label>.<domain>`: `parent` is `<label>.<domain>`, which the workers of one account share. */
  | { kind: "own"; parent: string }
  /** Under `path` on a host that also serves other content. */
  | { kind: "shared"; path: string };

/** Response headers that apply to the whole origin or leave state in the browser. */
const ORIGIN_WIDE = new Set([
  "service-worker-allowed", "clear-site-data", "alt-svc", "strict-transport-security", "public-key-pins", "expect-ct", "nel", "report-to", "reporting-endpoints",
  "origin-agent-cluster", "accept-ch", "critical-ch", "use-as-dictionary", "set-login", "activate-storage-access", "origin-trial", "speculation-rules",
]); // prettier-ignore

/**
 * No `allow-same-origin`: a document on a shared host gets an opaque origin, without access to the storage or pages of
 * other workers.
 */
const SANDBOX =
  "sandbox allow-downloads allow-forms allow-modals allow-popups allow-popups-to-escape-sandbox allow-scripts allow-top-navigation-by-user-activation";

/**
 * Makes a response open as a document without scripts, styles or an origin of its own; images and media in the same
 * response still work.
 */
const INERT = "sandbox; default-src 'none'";

/**
 * Restricts a response with stored bytes of a tenant on the origin of the API: a document in it gets no rights, and the
 * response leaves no state in the browser.
 */
export function makeInert(headers: Headers): void {
  for (const name of [...ORIGIN_WIDE, "set-cookie", "refresh", "link"]) headers.delete(name);
  headers.set("content-security-policy", INERT);
  headers.set("x-content-type-options", "nosniff");
}

/**
 * Response headers for the client, as a flat list of names and values. Without a site, only hop-by-hop headers are
 * removed.
 */
export function responseHeaders(rawHeaders: readonly string[], site?: Site): string[] {
  const headers: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [name, value] = [rawHeaders[i]!, rawHeaders[i + 1]!];
    const lower = name.toLowerCase();
    if (HOP_BY_HOP_FIELDS.has(lower) || (site?.kind === "shared" && ORIGIN_WIDE.has(lower))) continue;
    const restrictedCookie = site !== undefined && lower === "set-cookie" ? boundedCookie(value, site) : value;
    if (restrictedCookie !== undefined) headers.push(name, restrictedCookie);
  }
  if (site?.kind === "shared") headers.push("Content-Security-Policy", SANDBOX);
  return headers;
}

/** Returns the response headers of a static asset. On a shared host, redirects stay below the worker's path. */
export function assetHeaders(headers: readonly string[], site?: Site): string[] {
  const path = site?.kind === "shared" ? site.path : "";
  const redirectedHeaders = headers.map((text, i) =>
    i % 2 === 1 && headers[i - 1]!.toLowerCase() === "location" && text.startsWith("/") ? path + text : text,
  );
  return responseHeaders(redirectedHeaders, site);
}

/**
 * Restricts a cookie to the worker's own path or domain (RFC 6265 5.2). Returns undefined if the worker may not set it.
 */
function boundedCookie(value: string, site: Site): string | undefined {
  const [pair = "", ...attributes] = value.split(";").map((part) => part.trim());
  const nameOf = (attribute: string) => attribute.split("=", 1)[0]!.trim().toLowerCase();
  const valueOf = (attribute: string) =>
    attribute
      .slice(attribute.indexOf("=") + 1)
      .trim()
      .toLowerCase();
  if (site.kind === "shared") {
    // Browsers accept such a cookie only for the whole host.
    if (/^__host-/i.test(pair)) return undefined;
    return [
      pair,
      ...attributes.filter((attribute) => !["domain", "path"].includes(nameOf(attribute))),
      `Path=${site.path}`,
    ].join("; ");
  }
  const isInSite = (domain: string) => domain === site.parent || domain.endsWith(`.${site.parent}`);
  return [
    pair,
    ...attributes.filter(
      (attribute) => nameOf(attribute) !== "domain" || isInSite(valueOf(attribute).replace(/^\./, "")),
    ),
  ].join("; ");
}
