import { type Route, streamCopyRoutes, streamDirectUploadRoutes, streamUploadsRoutes } from "../../api/index.ts";
import { createGuardedFetch, type GuardedFetch } from "../../kernel/guarded-fetch.ts";
import type { Settings } from "../../kernel/settings.ts";
import {
  createUploads,
  type StreamUrls,
  type Uploads,
  type UploadsParts,
  type VideosRoom,
} from "../../stream/index.ts";
import type { Basics, Store } from "../compose.ts";

export interface ComposeUploadsParts {
  store: Pick<Store, "db" | "objects" | "jobs" | "events">;
  settings: Settings;
  videos: VideosRoom;
  urls: StreamUrls;
  findWatermark?: UploadsParts["findWatermark"];
  page?: UploadsParts["page"];
  /** Default: guarded as `stream.allow_private` has it. */
  fetch?: GuardedFetch;
}

export interface ComposedUploads {
  /** For `isArriving` of videos, and for the binding of workers. Its `http` answers the prefix `/upload/`. */
  uploads: Uploads;
  routes: Route[];
  /** Takes up what an earlier process has left, and copies from now on. To be called in a process that takes uploads, once everything of video stands. */
  start(): void;
}

const SWEEP_MS = 10 * 60_000;

export function composeUploads(
  { store: { db, objects, jobs, events }, settings, videos, urls, findWatermark, page, fetch }: ComposeUploadsParts,
  { clock, ids, log, lifecycle }: Basics,
): ComposedUploads {
  const uploads = createUploads({
    db,
    objects,
    jobs,
    events,
    clock,
    ids,
    log,
    settings: settings.stream,
    videos,
    urls,
    ...(findWatermark && { findWatermark }),
    ...(page && { page }),
    fetch: fetch ?? createGuardedFetch({ allowPrivate: settings.stream.allow_private }),
  });
  videos.whenDeleted(uploads.forget);
  let timer: NodeJS.Timeout | undefined;
  lifecycle.onStop("uploads", async () => {
    clearInterval(timer);
    await uploads.close();
  });
  const failed = (err: unknown) => log.warn({ err }, "uploads could not be looked after; it is tried again");

  return {
    uploads,
    routes: [
      ...streamUploadsRoutes({ uploads, urls }),
      ...streamCopyRoutes({ uploads, urls }),
      ...streamDirectUploadRoutes({ uploads, urls }),
    ],
    start() {
      uploads.start();
      const lookAfter = () => void uploads.recover().then(uploads.sweep).catch(failed);
      lookAfter();
      timer = setInterval(lookAfter, SWEEP_MS).unref();
    },
  };
}
