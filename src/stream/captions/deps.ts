import type { Clock, Ids, Log } from "../../kernel/index.ts";
import type { Settings } from "../../kernel/settings.ts";
import type { Db, Events, Jobs, ObjectStore, Sweeps } from "../../store/index.ts";
import type { MediaTools } from "../media/index.ts";
import type { Videos } from "../videos/index.ts";

export interface CaptionsDeps {
  db: Db;
  objects: ObjectStore;
  events: Events;
  jobs: Jobs;
  /** Default: sweeps run in this process only. */
  sweeps?: Pick<Sweeps, "every"> | undefined;
  tools: Pick<MediaTools, "ffmpeg">;
  videos: Pick<Videos, "get" | "find">;
  clock: Clock;
  ids: Ids;
  log: Log;
  settings: Pick<Settings["stream"], "caption_command" | "caption_languages" | "caption_minutes">;
  /** Private directory for audio that is passed to the transcription program: 2 MB per minute. */
  folder: string;
}
