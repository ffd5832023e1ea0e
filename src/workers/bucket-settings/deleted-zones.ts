import { messageOf, type Log } from "../../kernel/index.ts";
import type { Events } from "../../store/index.ts";
import type { BucketSettingsStore } from "./port.ts";

interface DeletedZonesDeps {
  settings: Pick<BucketSettingsStore, "removeZone" | "zonesOfDomains">;
  zones: { find(id: string): Promise<unknown> };
  events: Events;
  /** Topic of the events for deleted zones. The id of an event is the zone id. */
  zoneDeletedTopic: string;
  log: Log;
}

const PAGE = 1000;

/** Deletes the custom domains of buckets in deleted zones. */
export function watchDeletedZones({ settings, zones, events, zoneDeletedTopic, log }: DeletedZonesDeps) {
  let removals = Promise.resolve();

  /** Deletes domains in zones that no longer exist, because a crash may have prevented the deletion. */
  async function removeOrphans(): Promise<void> {
    let after = "";
    for (;;) {
      const ids = await settings.zonesOfDomains(after, PAGE);
      for (const id of ids) if ((await zones.find(id)) === undefined) await settings.removeZone(id);
      if (ids.length < PAGE) return;
      after = ids.at(-1)!;
    }
  }

  const unsubscribe = events.subscribe(zoneDeletedTopic, (zone) => {
    // An empty id means that notifications may have been lost.
    removals = removals
      .then(() => (zone === "" ? removeOrphans() : settings.removeZone(zone)))
      .catch((err: unknown) =>
        log.warn(
          { err, zone },
          `r2: failed to delete the custom domains of a deleted zone, will retry at the next start: ${messageOf(err)}`,
        ),
      );
  });

  return {
    /** Deletes the domains of zones that were deleted while no process was running. Call it at start. */
    load: removeOrphans,
    async close(): Promise<void> {
      unsubscribe();
      await removals;
    },
  };
}
