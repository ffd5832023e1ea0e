import type { Settings } from "../kernel/settings.ts";
import { createDkimRotation, type DkimPublisher, type DkimRotation, type EmailRouting } from "../mail/index.ts";
import type { Zones } from "../zones/index.ts";
import type { Basics, Store } from "./compose.ts";
import type { ServeDns } from "./dns.ts";

export interface DkimRotationParts {
  store: Pick<Store, "jobs">;
  settings: Settings;
  zones: Pick<Zones, "find">;
  routing: EmailRouting;
  /** Keys that sent mail is signed with. */
  sending?: DkimPublisher;
  dns: ServeDns;
}

/** DKIM keys of every name are replaced by new ones in time. */
export function composeDkimRotation(
  { store: { jobs }, settings: { email }, zones, routing, sending, dns }: DkimRotationParts,
  { clock, log, lifecycle }: Basics,
): DkimRotation {
  const rotation = createDkimRotation({
    dkimKeys: routing.dkimKeys,
    zones,
    jobs,
    clock,
    log,
    days: email.dkim_days,
    publishers: {
      routing: {
        rotate: (zone, name) => routing.dns.rotateDkim(zone, name),
        republish: (zone, name) => routing.dns.republish(zone, name),
      },
      ...(sending && { sending }),
    },
    async seen(name, records) {
      const { records: found } = await dns.watch.look(
        name,
        records.map(({ name: at, text }) => ({ type: "TXT", name: at, content: text })),
      );
      return found.every(({ state }) => state === "right");
    },
    publishes: (zone) => zone.type === "full" && !dns.byHand(zone.name),
  });
  lifecycle.onStop("DKIM rotation", () => rotation.close());
  return rotation;
}
