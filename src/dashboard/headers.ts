import { createHash } from "node:crypto";

/** Other origins that the pages of the dashboard use. */
export interface UsedOrigins {
  /** The API and uploads, for example `https://api.example.com`. */
  api: readonly string[];
  /** Videos and workers; may contain a wildcard label, for example `https://*.video.example.com`. */
  media: readonly string[];
}

/** Headers of every response of the dashboard. */
export const COMMON_HEADERS = {
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  // Pages of other origins that opened the dashboard, or were opened by it, cannot reach its window.
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy":
    "camera=(self), microphone=(self), display-capture=(self), geolocation=(), payment=(), usb=(), serial=(), hid=()",
};

/** Headers of responses of the API and of sign-in: no content of a user may act as a page of the dashboard. */
export const DATA_HEADERS = {
  ...COMMON_HEADERS,
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
};

/**
 * Returns the Content-Security-Policy of the pages. Scripts load only from the dashboard's own files. Style elements
 * are allowed, because the component library sets variables with them. Thumbnails, videos, players, uploads and live
 * broadcasts may be on other hosts of this server.
 */
export function pagePolicy({ api, media }: UsedOrigins): string {
  const origins = [...new Set([...api, ...media])];
  const sources = (...more: string[]) => ["'self'", ...more, ...origins].join(" ");
  const sockets = origins.map((origin) => origin.replace(/^http/, "ws"));
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    `img-src ${sources("data:", "blob:")}`,
    `media-src ${sources("blob:")}`,
    `connect-src ${["'self'", ...origins, ...sockets].join(" ")}`,
    `frame-src ${sources()}`,
    "font-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

/** Displays HTML that the page of the dashboard sends; its origin is opaque, and scripts of the HTML do not run. */
const MESSAGE_SCRIPT = `addEventListener("message", ({ data, source }) => {
  if (source !== parent || typeof data !== "object" || typeof data.html !== "string") return;
  document.open();
  document.write('<!doctype html><base target="_blank">' + data.html);
  document.close();
  const height = () => parent.postMessage({ height: document.documentElement.getBoundingClientRect().height }, "*");
  addEventListener("load", height);
  new ResizeObserver(height).observe(document.documentElement);
  height();
});
parent.postMessage({ ready: true }, "*");`;

/** The document of a frame that displays a message: an untrusted HTML body. */
export const MESSAGE_FRAME = `<!doctype html><meta charset="utf-8"><script>${MESSAGE_SCRIPT}</script>`;

/** `remote`: loads images, styles and fonts of other hosts, which lets senders see that the message was opened. */
export function messageFrameHeaders({ remote }: { remote: boolean }): Record<string, string> {
  const hash = createHash("sha256").update(MESSAGE_SCRIPT).digest("base64");
  const anyHost = remote ? " https: http:" : "";
  return {
    ...COMMON_HEADERS,
    "x-frame-options": "SAMEORIGIN",
    "content-security-policy": [
      "sandbox allow-scripts allow-popups allow-popups-to-escape-sandbox",
      "default-src 'none'",
      `script-src 'sha256-${hash}'`,
      `style-src 'unsafe-inline'${anyHost}`,
      `img-src data: blob:${anyHost}`,
      `font-src data:${anyHost}`,
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'self'",
    ].join("; "),
  };
}
