import { type Broadcast, createBroadcast } from "./broadcast.ts";
import type { LivePackages, OpenPackageOptions } from "./port.ts";

interface LivePackagesDeps {
  settings: { segment_seconds: number; part_ms: number };
}

export interface LivePackagesModule extends LivePackages {
  /** Returns a broadcast that is being packaged in this process, or was until a minute ago. */
  of(video: string): Broadcast | undefined;
  open(video: string, options?: OpenPackageOptions): Broadcast;
}

/** Viewers of an ended broadcast still send a few requests. */
const LINGER_MS = 60_000;

export function createLivePackages({
  settings: { segment_seconds: segmentSeconds, part_ms: partMs },
}: LivePackagesDeps): LivePackagesModule {
  const openBroadcasts = new Map<string, Broadcast>();
  const lingerTimers = new Set<NodeJS.Timeout>();

  function forget(broadcast: Broadcast, endMode: "ended" | "stopped"): void {
    if (endMode === "stopped") {
      if (openBroadcasts.get(broadcast.video) === broadcast) openBroadcasts.delete(broadcast.video);
      return;
    }
    const timer = setTimeout(() => {
      lingerTimers.delete(timer);
      if (openBroadcasts.get(broadcast.video) === broadcast) openBroadcasts.delete(broadcast.video);
    }, LINGER_MS).unref();
    lingerTimers.add(timer);
  }

  return {
    of: (video) => openBroadcasts.get(video),
    open(video, options = {}) {
      openBroadcasts.get(video)?.end();
      const broadcast = createBroadcast({
        video,
        ...options,
        segmentSeconds,
        partSeconds: partMs / 1000,
        onEnd: (endMode) => forget(broadcast, endMode),
      });
      openBroadcasts.set(video, broadcast);
      return broadcast;
    },
    close() {
      for (const broadcast of openBroadcasts.values()) broadcast.stop();
      for (const timer of lingerTimers) clearTimeout(timer);
      lingerTimers.clear();
    },
  };
}
