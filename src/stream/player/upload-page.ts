import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { PlayerAssets } from "./assets.ts";
import { contentPolicy } from "./content-policy.ts";
import { folderAbove, pageDocument } from "./document.ts";
import type { UploadPageConfig } from "./upload-config.ts";

export async function serveUploadPage(
  assets: PlayerAssets,
  request: IncomingMessage,
  response: ServerResponse,
  { secure, ...page }: UploadPageConfig & { secure: boolean },
): Promise<void> {
  const [script, style] = await Promise.all([assets.get("upload.js"), assets.get("upload-page.css")]);
  // Relative to `/upload/<uid>/<secret>`.
  const root = folderAbove(request.url, 2);
  const nonce = randomBytes(16).toString("base64url");
  const text = pageDocument({
    title: "Upload a video",
    kind: "upload",
    nonce,
    config: page,
    body: '<main id="upload"></main>',
    head: ['<meta name="robots" content="noindex">'],
    style: `${root}embed/assets/${style.hashedName}`,
    script: `${root}embed/assets/${script.hashedName}`,
  });
  response.writeHead(200, {
    "content-type": "text/html; charset=utf-8",
    "content-length": Buffer.byteLength(text),
    // Prevents clickjacking: a framing page could trick a user into dropping a file onto a hidden upload page.
    "content-security-policy": `${contentPolicy({ nonce, allowedOrigins: [], secure })}; frame-ancestors 'self'`,
    // The URL is a credential for the upload.
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
  });
  response.end(request.method === "HEAD" ? undefined : text);
}
