import { availableParallelism } from "node:os";
import type { Settings } from "../../kernel/settings.ts";
import {
  createProcessing,
  type Probe,
  type Processing,
  type ProcessingParts,
  type SegmentsRoom,
  type SourceRung,
  type VideosRoom,
} from "../../stream/index.ts";
import type { Basics, Store } from "../compose.ts";

export interface ComposeProcessingParts {
  store: Pick<Store, "jobs" | "objects">;
  settings: Settings;
  videos: VideosRoom;
  probe: Probe;
  segments: SegmentsRoom;
  /** Of sources that are played as they are. */
  source?: SourceRung;
  /** Adds audio tracks and subtitles of the uploaded file. */
  adoptTracks: NonNullable<ProcessingParts["adoptTracks"]>;
}

/** The way from an upload to a finished ladder. `start` is to be called in the processes that encode. */
export function composeProcessing(
  {
    store: { jobs, objects },
    settings: { stream },
    videos,
    probe,
    segments,
    source,
    adoptTracks,
  }: ComposeProcessingParts,
  { log, lifecycle }: Basics,
): Pick<Processing, "start"> {
  const processors = availableParallelism();
  const processing = createProcessing({
    videos,
    probe,
    segments,
    jobs,
    objects,
    log,
    adoptTracks,
    beginnings: Math.max(2, processors),
    encoders: stream.encoders || Math.max(1, Math.floor(processors / 2)),
    ...(source && { source }),
  });
  // Stopped before the segments it waits for.
  lifecycle.onStop("processing of videos", () => processing.close(), { timeoutMs: 5000 });
  return processing;
}
