import { availableParallelism } from "node:os";
import type { Settings } from "../../kernel/settings.ts";
import {
  createSegments,
  type AudioSources,
  type MediaTools,
  type SegmentsRoom,
  type VideosRoom,
} from "../../stream/index.ts";
import type { Basics, Store } from "../compose.ts";

export interface ComposeEncodeParts {
  store: Pick<Store, "objects">;
  settings: Settings;
  tools: MediaTools;
  videos: Pick<VideosRoom, "find">;
  /** Of added audio tracks, which are made later. */
  audio?: AudioSources;
  /** For files while they are made. */
  folder: string;
}

/** Segments, stored or encoded now: for delivery, processing and added audio. */
export function composeEncode(
  { store: { objects }, settings: { stream }, tools, videos, audio, folder }: ComposeEncodeParts,
  { clock, log, lifecycle }: Basics,
): SegmentsRoom {
  const segments = createSegments({
    tools,
    objects,
    clock,
    log,
    concurrency: stream.urgent_encoders || Math.max(2, availableParallelism()),
    scratch: folder,
    isThere: async (uid) => (await videos.find(uid)) !== undefined,
    ...(audio && { audio }),
  });
  lifecycle.onStop("segments", () => segments.close());
  return segments;
}
