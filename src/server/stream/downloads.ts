import { streamDownloadsRoutes, type Route } from "../../api/index.ts";
import {
  createDownloads,
  type DeliveryRoute,
  type Downloads,
  type Segments,
  type SourceRung,
  type StreamUrls,
  type VideosRoom,
} from "../../stream/index.ts";
import type { Basics, Store } from "../compose.ts";

export interface ComposeDownloadsParts {
  store: Pick<Store, "db" | "objects" | "jobs">;
  videos: VideosRoom;
  urls: StreamUrls;
  segments: Pick<Segments, "get">;
  source?: SourceRung;
  /** Schedules the merge of a recording into one file. */
  assemble(video: string): Promise<void>;
}

export interface ComposedDownloads {
  /** For the binding of workers. */
  downloads: Downloads;
  routes: Route[];
  delivery: DeliveryRoute[];
  /** Makes downloads from now on, and takes up what an earlier process has left. In the processes that encode. */
  start(): void;
}

const EVERY_MS = 60_000;

export function composeDownloads(
  { store: { db, objects, jobs }, videos, urls, segments, source, assemble }: ComposeDownloadsParts,
  { clock, ids, log, lifecycle }: Basics,
): ComposedDownloads {
  const downloads = createDownloads({ db, objects, jobs, videos, segments, source, assemble, clock, ids, log });
  videos.whenDeleted(downloads.clean);
  let timer: NodeJS.Timeout | undefined;
  lifecycle.onStop("downloads of videos", async () => {
    clearInterval(timer);
    await downloads.close();
  });
  const recover = () =>
    void downloads
      .recover()
      .catch((err: unknown) => log.warn({ err }, "downloads could not be looked after; it is tried again"));

  return {
    downloads,
    delivery: downloads.delivery,
    routes: streamDownloadsRoutes({ downloads, urls }),
    start() {
      downloads.start();
      recover();
      timer = setInterval(recover, EVERY_MS).unref();
    },
  };
}
