import { type Broadcast, createBroadcast } from "./broadcast.ts";
import type { LivePackages, OpenPackageOptions } from "./port.ts";

interface LivePackagesDeps {
  settings: { segment_seconds: number; part_ms: number };
}

export interface LivePackagesModule extends LivePackages {
  /** A broadcast that is being packaged in this process, or was until a minute ago. */
  of(video: string): Broadcast | undefined;
  open(video: string, options?: OpenPackageOptions): Broadcast;
}

/** Viewers of an ended broadcast still send a few requests. */
const LINGER_MS = 60_000;

export function createLivePackages({
  settings: { segment_seconds: segmentSeconds, part_ms: partMs },
}: LivePackagesDeps): LivePackagesModule {
  const open = new Map<string, Broadcast>();
  const lingering = new Set<NodeJS.Timeout>();

  function forget(broadcast: Broadcast, how: "ended" | "stopped"): void {
    if (how === "stopped") {
      if (open.get(broadcast.video) === broadcast) open.delete(broadcast.video);
      return;
    }
    const timer = setTimeout(() => {
      lingering.delete(timer);
      if (open.get(broadcast.video) === broadcast) open.delete(broadcast.video);
    }, LINGER_MS).unref();
    lingering.add(timer);
  }

  return {
    of: (video) => open.get(video),
    open(video, options = {}) {
      open.get(video)?.end();
      const broadcast = createBroadcast({
        video,
        ...options,
        segmentSeconds,
        partSeconds: partMs / 1000,
        onEnd: (how) => forget(broadcast, how),
      });
      open.set(video, broadcast);
      return broadcast;
    },
    close() {
      for (const broadcast of open.values()) broadcast.stop();
      for (const timer of lingering) clearTimeout(timer);
      lingering.clear();
    },
  };
}
