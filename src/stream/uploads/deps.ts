import type { Clock, Ids, Log } from "../../kernel/index.ts";
import type { GuardedFetch } from "../../kernel/guarded-fetch.ts";
import type { Settings } from "../../kernel/settings.ts";
import type { Db, Events, Jobs, ObjectStore, Sweeps } from "../../store/index.ts";
import type { StreamUrls, Videos, WatermarkProfile } from "../videos/index.ts";
import type { RenderUploadPage } from "./port.ts";

export interface UploadsDeps {
  db: Db;
  objects: ObjectStore;
  jobs: Jobs;
  events: Events;
  /** Default: sweeps run in this process only. */
  sweeps?: Pick<Sweeps, "every"> | undefined;
  clock: Clock;
  ids: Pick<Ids, "token">;
  log: Log;
  settings: Pick<Settings["stream"], "upload_gb" | "basic_upload_mb" | "chunk_mb">;
  videos: Pick<Videos, "create" | "find" | "edit" | "delete" | "uploaded" | "reopened" | "failed">;
  urls: Pick<StreamUrls, "upload" | "of">;
  fetch: GuardedFetch;
  /** Finds a profile of the account. Throws if it does not exist. If absent, there are no watermarks. */
  findWatermark?: (account: string, uid: string) => Promise<WatermarkProfile>;
  /** Page shown to browsers at a one-time URL. If absent, a line of text is sent. */
  page?: RenderUploadPage;
  /** Retries of failed copies. Default: ten attempts, the first retry after 2 s, then doubling, at most 5 minutes. */
  copyRetries?: { attempts: number; backoff: (attempt: number) => number };
}
