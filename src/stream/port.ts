import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../kernel/index.ts";
import type { StreamPort } from "../workers/ports.ts";
import type { Audience } from "./audience/index.ts";
import type { Audio } from "./audio/index.ts";
import type { Captions } from "./captions/index.ts";
import type { Chapters } from "./chapters/index.ts";
import type { Clips } from "./clips/index.ts";
import type { Downloads } from "./downloads/index.ts";
import type { SigningKeys } from "./keys/index.ts";
import type { LivePorts, LiveServices } from "./live/index.ts";
import type { MediaCapabilities } from "./media/index.ts";
import type { PlaybackTokens } from "./tokens/index.ts";
import type { Uploads } from "./uploads/index.ts";
import type { StreamUrls, VideosModule } from "./videos/index.ts";
import type { ViewedMinutes } from "./viewed/index.ts";
import type { Watermarks } from "./watermarks/index.ts";
import type { Webhooks } from "./webhooks/index.ts";

/** The services behind the API operations. */
interface StreamServices {
  videos: VideosModule;
  viewed: ViewedMinutes;
  audience: Audience;
  urls: StreamUrls;
  uploads: Uploads;
  clips: Clips;
  keys: SigningKeys;
  tokens: PlaybackTokens;
  watermarks: Watermarks;
  captions: Captions;
  chapters: Chapters;
  audio: Audio;
  downloads: Downloads;
  webhooks: Webhooks;
  live: LiveServices;
  /** `stream.storage_minutes`; 0: no limit. */
  storageMinutes: number;
  clock: Pick<Clock, "now">;
}

interface StreamChanges {
  topic: "videos" | "live";
  event: string;
  ownerOf(uid: string): Promise<{ account: string } | undefined>;
}

export interface Stream {
  services: StreamServices;
  /** Serves viewers and players. Resolves with false, without a response, if the URL is not that of a video. */
  deliver(request: IncomingMessage, response: ServerResponse): Promise<boolean>;
  /** Serves only `/embed/`, for processes that have upload pages but do not deliver videos. */
  deliverAssets(request: IncomingMessage, response: ServerResponse): Promise<boolean>;
  /** Serves `/upload/`. */
  upload(request: IncomingMessage, response: ServerResponse): Promise<void>;
  binding: StreamPort;
  /** The topics of change events in `store/events`, and functions that find the account of an event's id. */
  changes: StreamChanges[];
  /** Resolves with the number of videos, keys and other resources of an account, by name. */
  contents(account: string): Promise<Record<string, number>>;
  /**
   * Resolves with how ffmpeg is confined; rejects with UserError if ffmpeg is unusable. Undefined if this process does
   * not run it.
   */
  media: (() => Promise<MediaCapabilities>) | undefined;
  /** Opens the RTMP and SRT ports if this process has the role `live`. Rejects with UserError liveListenFailed. */
  listen(): Promise<LivePorts>;
  /** Starts the jobs and sweeps for the roles of this process. Call it when all other modules have been created. */
  start(): void;
}
