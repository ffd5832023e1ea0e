import { randomBytes } from "node:crypto";
import type { DeliveryRoute, DeliveryContext } from "../delivery/index.ts";
import type { PlayerAssets } from "./assets.ts";
import { contentPolicy } from "./content-policy.ts";
import { escapeHtml, folderAbove, pageDocument } from "./document.ts";
import type { PageConfig, PlayerVideo } from "./page-config.ts";
import { metaText } from "../videos/index.ts";
import type { createPlayerVideos } from "./player-video.ts";

/** Returns the two player pages: `iframe` for embedding in other pages, `watch` as a standalone page. */
export function pageRoutes(assets: PlayerAssets, playerVideo: ReturnType<typeof createPlayerVideos>): DeliveryRoute[] {
  return [
    {
      path: "iframe",
      purpose: "page",
      handle: async (viewing) => answerPage(assets, viewing, await playerVideo(viewing.video, viewing.id), "embed"),
    },
    {
      path: "watch",
      purpose: "page",
      handle: async (viewing) => answerPage(assets, viewing, await playerVideo(viewing.video, viewing.id), "watch"),
    },
  ];
}

async function answerPage(
  assets: PlayerAssets,
  viewing: DeliveryContext,
  video: PlayerVideo,
  mode: PageConfig["mode"],
): Promise<void> {
  if (mode === "embed" && video.live?.state === "waiting" && !isBrowser(viewing))
    return void viewing.response.writeHead(204, { "cache-control": "no-store" }).end();
  const [script, style] = await Promise.all([assets.get("player.js"), assets.get("page.css")]);
  // Relative to `/{id}/iframe`.
  const root = folderAbove(viewing.request.url, 1);
  const nonce = randomBytes(16).toString("base64url");
  const { response } = viewing;
  response.setHeader(
    "content-security-policy",
    contentPolicy({ nonce, allowedOrigins: viewing.video.allowedOrigins, secure: viewing.origin.startsWith("https:") }),
  );
  // The URL of this page contains the token of a protected video, so other sites may learn at most the host.
  response.setHeader("referrer-policy", "strict-origin-when-cross-origin");
  response.setHeader("x-content-type-options", "nosniff");
  // The nonce is valid only for this response, and the video's state changes.
  response.setHeader("cache-control", "no-store");
  const { meta } = viewing.video;
  const [name, description] = [metaText(meta, "name"), metaText(meta, "description")];
  const title = video.details.title || (mode === "watch" && name) || "Video";
  viewing.sendText(
    pageDocument({
      title,
      kind: mode,
      nonce,
      body: bodyOf(mode, title, mode === "watch" ? description : undefined),
      head:
        mode === "watch" ? watchHead(viewing, video, title, description) : ['<meta name="robots" content="noindex">'],
      style: `${root}embed/assets/${style.hashedName}`,
      script: `${root}embed/assets/${script.hashedName}`,
      config: {
        mode,
        root,
        video,
        ...(mode === "watch" && name !== undefined && { title: name }),
      } satisfies PageConfig,
    }),
    { type: "text/html; charset=utf-8" },
  );
}

/**
 * The hosted service responds with 204 for an input that is not live. Polling clients get the same response; browsers
 * get a page that waits, then plays.
 */
const isBrowser = ({ request: { headers } }: DeliveryContext) =>
  (headers.accept ?? "").includes("text/html") ||
  headers["sec-fetch-dest"] === "iframe" ||
  headers["sec-fetch-dest"] === "document";

/** The player is inserted before the heading, which is visible only on watch pages. */
function bodyOf(mode: PageConfig["mode"], title: string, description: string | undefined): string {
  if (mode === "embed") return `<main id="player"><h1 class="visually-hidden">${escapeHtml(title)}</h1></main>`;
  return `<main id="player"><div class="about"><h1>${escapeHtml(title)}</h1>${description ? `<p>${escapeHtml(description)}</p>` : ""}</div></main>`;
}

/** Previews for shared links: Open Graph, and the URL of the oEmbed response. */
function watchHead(
  { base, id, origin, video: { requireSignedURLs } }: DeliveryContext,
  video: PlayerVideo,
  title: string,
  description: string | undefined,
): string[] {
  const pageUrl = `${origin}${base}/${id}`;
  const oembed = `${origin}${base}/embed/oembed?url=${encodeURIComponent(`${pageUrl}/watch`)}`;
  return [
    ...(requireSignedURLs ? ['<meta name="robots" content="noindex">'] : []),
    `<link rel="alternate" type="application/json+oembed" href="${escapeHtml(oembed)}" title="${escapeHtml(title)}">`,
    property("og:type", "video.other"),
    property("og:title", title),
    ...(description
      ? [`<meta name="description" content="${escapeHtml(description)}">`, property("og:description", description)]
      : []),
    property("og:url", `${pageUrl}/watch`),
    property("og:video", `${pageUrl}/iframe`),
    property("og:video:type", "text/html"),
    ...(video.width > 0
      ? [property("og:video:width", String(video.width)), property("og:video:height", String(video.height))]
      : []),
    ...(video.poster === null ? [] : [property("og:image", `${pageUrl}/${video.poster}`)]),
  ];
}

const property = (name: string, content: string) => `<meta property="${name}" content="${escapeHtml(content)}">`;
