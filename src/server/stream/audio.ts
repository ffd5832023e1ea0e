import { streamAudioRoutes, type Route } from "../../api/index.ts";
import { createGuardedFetch, type GuardedFetch } from "../../kernel/guarded-fetch.ts";
import type { Settings } from "../../kernel/settings.ts";
import { createAudio, type Audio, type MediaTools, type VideosRoom } from "../../stream/index.ts";
import type { Basics, Store } from "../compose.ts";

export interface ComposeAudioParts {
  store: Pick<Store, "db" | "objects" | "jobs" | "events">;
  settings: Settings;
  videos: VideosRoom;
  tools: MediaTools;
  /** For files while they are made. */
  folder: string;
  /** Default: guarded as `stream.allow_private` has it. */
  fetch?: GuardedFetch;
}

export interface ComposedAudio {
  /** Its `tracks` are for playback, its `sources` for the encoder. */
  audio: Audio;
  routes: Route[];
  /** Prepares tracks from now on, and takes up what an earlier process has left. In the processes that encode. */
  start(): void;
}

const EVERY_MS = 60_000;

export function composeAudio(
  { store: { db, objects, jobs, events }, settings, videos, tools, folder, fetch }: ComposeAudioParts,
  { clock, ids, log, lifecycle }: Basics,
): ComposedAudio {
  const audio = createAudio({
    db,
    objects,
    jobs,
    events,
    videos,
    tools,
    folder,
    clock,
    ids,
    log,
    settings: settings.stream,
    fetch: fetch ?? createGuardedFetch({ allowPrivate: settings.stream.allow_private }),
  });
  videos.whenDeleted(audio.clean);
  let timer: NodeJS.Timeout | undefined;
  lifecycle.onStop("audio tracks", async () => {
    clearInterval(timer);
    await audio.close();
  });
  const recover = () =>
    void audio
      .recover()
      .catch((err: unknown) => log.warn({ err }, "audio tracks could not be looked after; it is tried again"));

  return {
    audio,
    routes: streamAudioRoutes({ audio }),
    start() {
      audio.start();
      recover();
      timer = setInterval(recover, EVERY_MS).unref();
    },
  };
}
