import type { Settings } from "../../kernel/settings.ts";
import { createPassthrough, type SourceRung } from "../../stream/index.ts";
import type { Basics, Store } from "../compose.ts";

/** The source as a rendition. For playback, and for downloads. */
export const composePassthrough = (
  { store: { objects }, settings }: { store: Pick<Store, "objects">; settings: Settings },
  { log }: Pick<Basics, "log">,
): SourceRung => createPassthrough({ objects, log, enabled: settings.stream.passthrough });
