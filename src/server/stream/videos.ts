import { streamUsageRoutes, streamVideosRoutes, type Route } from "../../api/index.ts";
import type { Settings } from "../../kernel/settings.ts";
import {
  createVideos,
  createViewedMinutes,
  type StreamUrls,
  type Video,
  type VideosRoom,
  type ViewedMinutes,
} from "../../stream/index.ts";
import type { Basics, Store } from "../compose.ts";

export interface ComposeVideosParts {
  store: Pick<Store, "db" | "objects" | "jobs" | "events">;
  settings: Settings;
  /** Made before: `createStreamUrls`. */
  urls: StreamUrls;
  /** Of webhooks, made before as well. */
  onSettled?: (video: Video) => Promise<void>;
  /** Of uploads, which are made later. */
  isArriving?: (uid: string) => Promise<boolean>;
}

export interface ComposedVideos {
  videos: VideosRoom;
  /** Its `watch` goes around the routes of playback. */
  viewed: ViewedMinutes;
  routes: Route[];
  /**
   * Takes up what an earlier process has left, and looks after scheduled deletions from now on. To be called once everything else of video stands,
   * in one or more of the processes that share a database.
   */
  start(): void;
}

const EVERY_MS = 30_000;

export function composeVideos(
  { store: { db, objects, jobs, events }, settings, urls, onSettled, isArriving }: ComposeVideosParts,
  { clock, ids, log, lifecycle }: Basics,
): ComposedVideos {
  const videos = createVideos({
    db,
    objects,
    jobs,
    events,
    clock,
    ids,
    log,
    settings: settings.stream,
    ...(onSettled && { onSettled }),
    ...(isArriving && { isArriving }),
  });
  const viewed = createViewedMinutes({ db, clock, log });
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<void> | undefined;

  async function lookAfter() {
    await videos.recover();
    await videos.sweep();
  }
  /** One round at a time, however long it takes. */
  function begin() {
    round ??= lookAfter()
      .catch((err: unknown) => log.warn({ err }, "videos could not be looked after; it is tried again"))
      .finally(() => (round = undefined));
  }
  lifecycle.onStop("videos", async () => {
    clearInterval(timer);
    await round;
    await videos.close();
    await viewed.close();
  });

  return {
    videos,
    viewed,
    routes: [
      ...streamVideosRoutes({ videos, urls }),
      ...streamUsageRoutes({ videos, viewed, clock, storageMinutes: settings.stream.storage_minutes }),
    ],
    start() {
      videos.start();
      begin();
      timer = setInterval(begin, EVERY_MS).unref();
    },
  };
}
