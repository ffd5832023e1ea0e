import { randomBytes } from "node:crypto";
import type { DeliveryRoute, Viewing } from "../delivery/route.ts";
import type { Assets } from "./assets.ts";
import { contentPolicy } from "./content-policy.ts";
import { escapeHtml, folderAbove, pageDocument } from "./document.ts";
import type { PageConfig, PlayerVideo } from "./page-config.ts";
import type { createPlayerVideos } from "./player-video.ts";

/** The two pages with the player: `iframe` for frames of other pages, `watch` for a tab of its own. */
export function pageRoutes(assets: Assets, playerVideo: ReturnType<typeof createPlayerVideos>): DeliveryRoute[] {
  return [
    { path: "iframe", want: "page", handle: async (viewing) => answerPage(assets, viewing, await playerVideo(viewing.video, viewing.id), "embed") },
    { path: "watch", want: "page", handle: async (viewing) => answerPage(assets, viewing, await playerVideo(viewing.video, viewing.id), "watch") },
  ];
}

async function answerPage(assets: Assets, viewing: Viewing, video: PlayerVideo, mode: PageConfig["mode"]): Promise<void> {
  const [script, style] = await Promise.all([assets.get("player.js"), assets.get("page.css")]);
  // From `/{id}/iframe`.
  const root = folderAbove(viewing.request.url, 1);
  const nonce = randomBytes(16).toString("base64url");
  const { response } = viewing;
  response.setHeader("content-security-policy", contentPolicy({ nonce, allowedOrigins: viewing.video.allowedOrigins, secure: viewing.origin.startsWith("https:") }));
  // The token of a protected video stands in the address of this page: other sites get to know the host at most.
  response.setHeader("referrer-policy", "strict-origin-when-cross-origin");
  response.setHeader("x-content-type-options", "nosniff");
  // The nonce is of this answer, and the state of the video of this moment.
  response.setHeader("cache-control", "no-store");
  viewing.sendText(
    pageDocument({
      title: video.details.title ?? "Video", kind: mode, nonce,
      head: mode === "watch" ? watchHead(viewing, video) : ['<meta name="robots" content="noindex">'],
      style: `${root}embed/assets/${style.hashed}`, script: `${root}embed/assets/${script.hashed}`,
      config: { mode, root, video } satisfies PageConfig,
    }),
    { type: "text/html; charset=utf-8" },
  );
}

/** What a link to the page looks like where it is shared: Open Graph, and the address of the oEmbed answer. */
function watchHead({ base, id, origin, video: { requireSignedURLs } }: Viewing, video: PlayerVideo): string[] {
  const here = `${origin}${base}/${id}`;
  const title = video.details.title ?? "Video";
  const oembed = `${origin}${base}/embed/oembed?url=${encodeURIComponent(`${here}/watch`)}`;
  return [
    ...(requireSignedURLs ? ['<meta name="robots" content="noindex">'] : []),
    `<link rel="alternate" type="application/json+oembed" href="${escapeHtml(oembed)}" title="${escapeHtml(title)}">`,
    property("og:type", "video.other"),
    property("og:title", title),
    property("og:url", `${here}/watch`),
    property("og:video", `${here}/iframe`),
    property("og:video:type", "text/html"),
    ...(video.width > 0 ? [property("og:video:width", String(video.width)), property("og:video:height", String(video.height))] : []),
    ...(video.poster === null ? [] : [property("og:image", `${here}/${video.poster}`)]),
  ];
}

const property = (name: string, content: string) => `<meta property="${name}" content="${escapeHtml(content)}">`;
