import type { Basics } from "../../kernel/basics.ts";
import type { Settings } from "../../kernel/settings.ts";
import type { Store } from "../../store/index.ts";
import type { RecordWatch, Zones } from "../../zones/index.ts";
import type { DkimKeys } from "./dkim-keys.ts";
import { createDkimRotation, type DkimRotation, type DkimRotationOptions } from "./rotation.ts";

interface DkimRotationSetupDeps {
  store: Pick<Store, "jobs">;
  settings: Pick<Settings, "email">;
  zones: Pick<Zones, "find">;
  dkimKeys: DkimKeys;
  publishers: DkimRotationOptions["publishers"];
  watch: Pick<RecordWatch, "check">;
  /** Returns true if the records of a zone are entered manually. */
  isManual(zone: string): boolean;
}

/** Rotates the DKIM keys of all names at the configured age. */
export function setUpDkimRotation(
  { store: { jobs }, settings: { email }, zones, dkimKeys, publishers, watch, isManual }: DkimRotationSetupDeps,
  { clock, log, lifecycle }: Basics,
): DkimRotation {
  const rotation = createDkimRotation({
    dkimKeys,
    zones,
    jobs,
    clock,
    log,
    days: email.dkim_days,
    publishers,
    async areVisible(name, records) {
      const { records: foundRecords } = await watch.check(
        name,
        records.map(({ name: recordName, text }) => ({ type: "TXT", name: recordName, content: text })),
      );
      return foundRecords.every(({ state }) => state === "right");
    },
    isAutomatic: (zone) => zone.type === "full" && !isManual(zone.name),
  });
  lifecycle.onStop("DKIM rotation", () => rotation.close());
  return rotation;
}
