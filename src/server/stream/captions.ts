import { streamCaptionsRoutes, type Route } from "../../api/index.ts";
import type { Settings } from "../../kernel/settings.ts";
import { createCaptions, type Captions, type MediaTools, type Videos } from "../../stream/index.ts";
import type { Basics, Store } from "../compose.ts";

export interface ComposeCaptionsParts {
  store: Pick<Store, "db" | "objects" | "events" | "jobs">;
  settings: Pick<Settings, "stream">;
  tools: Pick<MediaTools, "ffmpeg">;
  videos: Pick<Videos, "find" | "get">;
  /** For files that live no longer than a run. */
  folder: string;
}

export interface ComposedCaptions {
  /** Among them what manifests name (TextTracks); `forgetVideo` for what is deleted; `start()` where jobs are run: it also takes up what an earlier process has left. */
  captions: Captions;
  routes: Route[];
}

const GRACE_MS = 10_000;
const EVERY_MS = 60_000;

export function composeCaptions(
  { store: { db, objects, events, jobs }, settings, tools, videos, folder }: ComposeCaptionsParts,
  { clock, ids, log, lifecycle }: Basics,
): ComposedCaptions {
  const captions = createCaptions({
    db,
    objects,
    events,
    jobs,
    tools,
    videos,
    clock,
    ids,
    log,
    settings: settings.stream,
    folder,
  });
  let timer: NodeJS.Timeout | undefined;
  lifecycle.onStop(
    "captions",
    async () => {
      clearInterval(timer);
      await captions.close();
    },
    { timeoutMs: GRACE_MS + 5000 },
  );
  const recover = () =>
    void captions
      .recover()
      .catch((err: unknown) =>
        log.warn({ err }, "captions that are generated could not be looked after; it is tried again"),
      );

  return {
    captions: {
      ...captions,
      start() {
        captions.start();
        recover();
        timer = setInterval(recover, EVERY_MS).unref();
      },
    },
    routes: streamCaptionsRoutes({ captions }),
  };
}
