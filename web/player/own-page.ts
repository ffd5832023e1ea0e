import type { PageConfig, PlayerVideo } from "../../src/stream/player/page-config.ts";
import { type PlayerOptions, writeOptions } from "./options.ts";
import { readVideo } from "./waiting.ts";

/**
 * Whether `video` has to come with a page of its own. The server takes what this page asks for as asked by a page of ours, wherever it is shown; that it
 * may be shown there the browser has seen to by the rule of the video it came with, and of no other.
 */
export const needsOwnPage = (video: PlayerVideo, { video: first }: PageConfig): boolean =>
  window.parent !== window && video.frames !== null && video.frames !== first.frames;

/** Leaves for the page of another video in the same frame, if the browser lets it be shown there. `options` go along. */
export function openOwnPage({ id }: PlayerVideo, { mode, root }: PageConfig, options: PlayerOptions): void {
  const query = writeOptions(options, new URLSearchParams(location.search));
  location.replace(
    new URL(`${root}${id}/${mode === "embed" ? "iframe" : "watch"}?${query}${location.hash}`, location.href),
  );
}

/** Whether a file that somebody else named, a poster or an advertisement, may be shown here. What is below our own root is judged as the page of its video is. */
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
