import { frameAncestors } from "../access/index.ts";

/**
 * Returns the Content-Security-Policy of a player page. Only scripts with the nonce run. Inline styles are allowed,
 * because the shadow trees of the controls contain them; posters and advertisements may come from any host that the
 * embedding page specifies.
 */
export function contentPolicy({
  nonce,
  allowedOrigins,
  secure,
}: {
  nonce: string;
  allowedOrigins: readonly string[];
  secure: boolean;
}): string {
  // A page loaded over plain HTTP, on a developer's machine, may load other plain HTTP content.
  const anyOrigin = secure ? "https:" : "https: http:";
  // Without rules the directive is omitted: `*` would block the pages of apps, whose schemes are not network schemes
  // (CSP 3, 6.7.2.6).
  const ancestors = frameAncestors(allowedOrigins);
  return [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    "style-src 'self' 'unsafe-inline'",
    `img-src 'self' data: blob: ${anyOrigin}`,
    `media-src 'self' blob: data: ${anyOrigin}`,
    `connect-src 'self' ${anyOrigin}`,
    "worker-src blob:",
    "base-uri 'none'",
    "form-action 'none'",
    ...(ancestors === undefined ? [] : [ancestors]),
  ].join("; ");
}
