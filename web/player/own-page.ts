import type { PageConfig, PlayerVideo } from "../../src/stream/player/page-config.ts";
import { type PlayerOptions, writeOptions } from "./options.ts";
import { readVideo } from "./waiting.ts";

/**
 * True if `video` needs a separate page. The server trusts requests from this page wherever it is embedded; the browser
 * has checked embedding only against the rules of the page's own video.
 */
export const needsOwnPage = (video: PlayerVideo, { video: first }: PageConfig): boolean =>
  window.parent !== window && video.frames !== null && video.frames !== first.frames;

/**
 * Navigates to the page of another video in the same iframe, if the browser allows embedding it. Passes on `options`.
 */
export function openOwnPage({ id }: PlayerVideo, { mode, root }: PageConfig, options: PlayerOptions): void {
  const query = writeOptions(options, new URLSearchParams(location.search));
  location.replace(
    new URL(`${root}${id}/${mode === "embed" ? "iframe" : "watch"}?${query}${location.hash}`, location.href),
  );
}

/**
 * True if a poster or advertisement from another video may be shown here. Files under our own root follow the rules of
 * this page's video.
 */
export async function mayShow(address: string, config: PageConfig): Promise<boolean> {
  const root = new URL(config.root, location.href);
  const { origin, pathname } = new URL(address, location.href);
  if (window.parent === window || origin !== root.origin || !pathname.startsWith(root.pathname)) return true;
  const [id] = pathname.slice(root.pathname.length).split("/");
  if (id === config.video.id) return true;
  return readVideo(`${root.href}${id}/metadata/player.json`).then(
    (video) => !needsOwnPage(video, config),
    () => false,
  );
}
