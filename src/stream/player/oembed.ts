import type { IncomingMessage, ServerResponse } from "node:http";
import { UserError } from "../../kernel/index.ts";
import { type Access, viewerOf } from "../access/index.ts";
import type { AccountHostCheck } from "../customers/index.ts";
import { cacheControl } from "../delivery/index.ts";
import { streamErrors } from "../errors.ts";
import { escapeHtml } from "./document.ts";
import { playerVideo } from "./player-video.ts";

interface OembedRequest {
  access: Pick<Access, "check">;
  base: string;
  ip: string;
  isAccountHost: AccountHostCheck;
  /** Scheme and host of the request. */
  self: string;
  /** Scheme and host in the response. Caches may serve it to clients that sent a different Host. */
  publicOrigin: string;
  request: IncomingMessage;
  response: ServerResponse;
}

const WIDTH = 640;
const HEIGHT = 360;
const CACHE_SECONDS = 300;

/**
 * `/embed/oembed?url=…&maxwidth=…&maxheight=…`: describes how a page can embed the video with this URL (oembed.com).
 * JSON only; requests for XML get 501 (2.2.2 of that specification).
 */
export async function serveOembed({
  access,
  base,
  ip,
  isAccountHost,
  self,
  publicOrigin,
  request,
  response,
}: OembedRequest): Promise<void> {
  const query = new URL(request.url ?? "/", "http://localhost").searchParams;
  if (request.method !== "GET" && request.method !== "HEAD") return answer(405, { error: "Only GET is allowed" });
  if ((query.get("format") ?? "json") !== "json") return answer(501, { error: "Only format=json is supported" });
  const id = idOf(query.get("url") ?? "", base);
  if (id === undefined) return answer(404, { error: "url is not the address of a video on this server" });
  try {
    const checkedVideo = await access.check(id, "page", viewerOf(request.headers, { ip, self }));
    if (!isAccountHost(request.headers.host, checkedVideo.account))
      throw streamErrors.videoNotFound({ uid: checkedVideo.uid });
    const video = playerVideo(checkedVideo, id);
    const playerUrl = `${publicOrigin}${base}/${id}`;
    const size = fit(video.width > 0 ? video.width : WIDTH, video.height > 0 ? video.height : HEIGHT, {
      width: parseBound(query.get("maxwidth")),
      height: parseBound(query.get("maxheight")),
    });
    const title = video.details.title ?? "Video";
    return answer(
      200,
      {
        type: "video",
        version: "1.0",
        provider_name: "Reelpost",
        provider_url: publicOrigin,
        title,
        ...size,
        html: `<iframe src="${escapeHtml(`${playerUrl}/iframe`)}" title="${escapeHtml(title)}" width="${size.width}" height="${size.height}" style="border:0" allow="accelerometer; gyroscope; autoplay; encrypted-media; picture-in-picture;" allowfullscreen></iframe>`,
        ...(video.poster !== null && {
          thumbnail_url: `${playerUrl}/thumbnails/thumbnail.jpg?width=${size.width}&height=${size.height}`,
          thumbnail_width: size.width,
          thumbnail_height: size.height,
        }),
      },
      cacheControl({ video: checkedVideo, id }, CACHE_SECONDS),
    );
  } catch (err) {
    if (!(err instanceof UserError)) throw err;
    // 2.3.5.1: 401 for private videos, 404 for unknown ones.
    return answer(err.entry.http === 404 ? 404 : 401, { error: err.message });
  }

  function answer(status: number, body: object, cache = "no-store"): void {
    response.writeHead(status, {
      "content-type": "application/json; charset=utf-8",
      "access-control-allow-origin": "*",
      "x-content-type-options": "nosniff",
      "cache-control": cache,
    });
    response.end(request.method === "HEAD" ? undefined : JSON.stringify(body));
  }
}

const ADDRESS_PATTERN = /^\/([A-Za-z0-9_.-]{16,8192})\/(watch|iframe)\/?$/;

function idOf(url: string, base: string): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const { pathname } = new URL(url);
  return pathname.startsWith(base) ? ADDRESS_PATTERN.exec(pathname.slice(base.length))?.[1] : undefined;
}

const parseBound = (text: string | null): number =>
  text !== null && /^\d{1,5}$/.test(text) && Number(text) > 0 ? Number(text) : Infinity;

/** Returns the native size, or the largest that fits into the space of the requesting page. */
function fit(width: number, height: number, max: { width: number; height: number }): { width: number; height: number } {
  const factor = Math.min(1, max.width / width, max.height / height);
  return { width: Math.max(1, Math.round(width * factor)), height: Math.max(1, Math.round(height * factor)) };
}
