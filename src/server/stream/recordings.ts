import type { Settings } from "../../kernel/settings.ts";
import {
  createAssembly,
  createRecordings,
  type Assembly,
  type MediaTools,
  type Probe,
  type Recordings,
  type VideosRoom,
} from "../../stream/index.ts";
import type { Basics, Store } from "../compose.ts";

export interface ComposeRecordingsParts {
  store: Pick<Store, "db" | "objects" | "jobs">;
  settings: Pick<Settings, "live">;
  videos: VideosRoom;
  probe: Probe;
  tools: MediaTools;
  folder: string;
  /** Called when a recording has been merged into one file, or cannot be. */
  onAssembled(video: string): Promise<void>;
}

/** What is kept of broadcasts, and the files that are made of it. */
export function composeRecordings(
  { store: { db, objects, jobs }, settings, videos, probe, tools, folder, onAssembled }: ComposeRecordingsParts,
  { clock, log, lifecycle }: Basics,
): { recordings: Recordings; assembly: Assembly } {
  const recordings = createRecordings({ db, objects, clock, log, segmentSeconds: settings.live.segment_seconds });
  videos.whenDeleted(recordings.clean);
  const assembly = createAssembly({
    jobs,
    objects,
    videos: videos.live,
    recordings,
    probe,
    tools,
    folder,
    log,
    onDone: onAssembled,
  });
  lifecycle.onStop("files of recordings", () => assembly.close());
  return { recordings, assembly };
}
