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
  /** Among them what manifests name (TextTracks); `start()` where jobs are run; `forgetVideo` for what is deleted. */
  captions: Captions;
  routes: Route[];
}

const GRACE_MS = 10_000;

export function composeCaptions({ store: { db, objects, events, jobs }, settings, tools, videos, folder }: ComposeCaptionsParts, { clock, ids, log, lifecycle }: Basics): ComposedCaptions {
  const captions = createCaptions({ db, objects, events, jobs, tools, videos, clock, ids, log, settings: settings.stream, folder });
  lifecycle.onStop("captions", () => captions.close(), { timeoutMs: GRACE_MS + 5000 });
  return { captions, routes: streamCaptionsRoutes({ captions }) };
}
