import { streamClipRoutes, type Route } from "../../api/index.ts";
import { createClips, type Clips, type ClipsParts, type StreamUrls, type VideosRoom } from "../../stream/index.ts";
import type { Basics, Store } from "../compose.ts";

export interface ComposeClipsParts {
  store: Pick<Store, "objects">;
  videos: VideosRoom;
  urls: StreamUrls;
  findWatermark?: ClipsParts["findWatermark"];
}

export function composeClips(
  { store: { objects }, videos, urls, findWatermark }: ComposeClipsParts,
  { clock, log }: Basics,
): { clips: Clips; routes: Route[] } {
  const clips = createClips({ videos, objects, clock, log, ...(findWatermark && { findWatermark }) });
  return { clips, routes: streamClipRoutes({ clips, urls }) };
}
