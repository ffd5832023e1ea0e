import type { Video } from "../videos/index.ts";

const WEEK = 7 * 24 * 3600;

/**
 * "immutable": a week, after which a deleted or locked video is gone from caches on the way too. What not everybody may see is kept by the viewer's
 * own browser only.
 */
export function cacheControl(
  { video, id }: { video: Pick<Video, "uid" | "requireSignedURLs" | "allowedOrigins">; id: string },
  cache: "immutable" | number | undefined,
): string {
  if (cache === undefined) return "no-store";
  const open = id === video.uid && !video.requireSignedURLs && video.allowedOrigins.length === 0;
  return `${open ? "public" : "private"}, max-age=${cache === "immutable" ? `${WEEK}, immutable` : Math.max(0, Math.floor(cache))}`;
}
