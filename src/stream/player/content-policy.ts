import { frameAncestors } from "../access/index.ts";

/**
 * The policy of a page with the player. Scripts run by nonce only. Styles are open to what is inline, since the shadow trees of the controls
 * bring their own; posters and advertisements may lie anywhere the embedding page says.
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
  // A page that came over plain HTTP, on a developer's machine, has neighbours that do the same.
  const anywhere = secure ? "https:" : "https: http:";
  // No rule is no directive: `*` would shut out the pages of apps, whose schemes are not of the network (CSP 3, 6.7.2.6).
  const ancestors = frameAncestors(allowedOrigins);
  return [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    "style-src 'self' 'unsafe-inline'",
    `img-src 'self' data: blob: ${anywhere}`,
    `media-src 'self' blob: data: ${anywhere}`,
    `connect-src 'self' ${anywhere}`,
    "worker-src blob:",
    "base-uri 'none'",
    "form-action 'none'",
    ...(ancestors === undefined ? [] : [ancestors]),
  ].join("; ");
}
