import type { Video } from "../videos/index.ts";

const WEEK_SECONDS = 7 * 24 * 3600;

/**
 * "immutable" means one week, after which deleted or locked videos have also expired from intermediate caches.
 * Restricted content is cached only by the viewer's browser.
 */
export function cacheControl(
  { video, id }: { video: Pick<Video, "uid" | "requireSignedURLs" | "allowedOrigins">; id: string },
  cache: "immutable" | number | undefined,
): string {
  if (cache === undefined) return "no-store";
  const isPublic = id === video.uid && !video.requireSignedURLs && video.allowedOrigins.length === 0;
  return `${isPublic ? "public" : "private"}, max-age=${cache === "immutable" ? `${WEEK_SECONDS}, immutable` : Math.max(0, Math.floor(cache))}`;
}
