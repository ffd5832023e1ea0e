import { streamWatermarksRoutes, type Route } from "../../api/index.ts";
import type { GuardedFetch } from "../../kernel/guarded-fetch.ts";
import { createWatermarks, type MediaTools, type Watermarks } from "../../stream/index.ts";
import type { Basics, Store } from "../compose.ts";

export interface ComposeWatermarksParts {
  store: Pick<Store, "db" | "objects">;
  tools: Pick<MediaTools, "ffmpeg">;
  fetch: GuardedFetch;
}

export interface ComposedWatermarks {
  /** `get` for those who make videos, `burned` for who probes them. */
  watermarks: Watermarks;
  routes: Route[];
}

const SWEEP_MS = 6 * 3_600_000;

export function composeWatermarks(
  { store: { db, objects }, tools, fetch }: ComposeWatermarksParts,
  { clock, ids, log, lifecycle }: Basics,
): ComposedWatermarks {
  const watermarks = createWatermarks({ db, objects, tools, fetch, clock, ids, log });
  const timer = setInterval(
    () =>
      void watermarks
        .sweep()
        .catch((err: unknown) =>
          log.warn({ err }, "images of deleted watermarks could not be removed; it is tried again"),
        ),
    SWEEP_MS,
  ).unref();
  lifecycle.onStop("watermarks", () => clearInterval(timer));
  return { watermarks, routes: streamWatermarksRoutes({ watermarks }) };
}
