import { workerRoutingErrors } from "./errors.ts";
import { hostOf, isWithinZone } from "./pattern.ts";
import type { RoutingZone, RoutingZones } from "./port.ts";

/**
 * Resolves with the zone of a host: the specified zone, or the closest zone that contains the host. Throws zoneMissing,
 * othersZone.
 */
export async function zoneFor(
  zones: RoutingZones,
  account: string,
  { host, zoneId, zoneName }: { host: string; zoneId?: string | undefined; zoneName?: string | undefined },
): Promise<RoutingZone> {
  const name = zoneName === undefined ? undefined : (hostOf(zoneName) ?? zoneName.toLowerCase());
  const zone = zoneId === undefined ? await zones.findEnclosing(name ?? host) : await zones.find(zoneId);
  const hasRequestedName = name === undefined || zone?.name === name;
  if (zone?.account !== account || !hasRequestedName || !isWithinZone(host, zone.name))
    throw workerRoutingErrors.zoneMissing({
      name: zoneId === undefined ? (zoneName ?? host) : `${host} with the id ${zoneId}`,
    });
  if (zoneId !== undefined || name !== undefined) await checkClosestZone(zones, account, host);
  return zone;
}

/**
 * Checks that the host does not belong to another account, which may own a zone below a zone of this account. Throws
 * othersZone.
 */
export async function checkClosestZone(
  zones: Pick<RoutingZones, "findEnclosing">,
  account: string,
  host: string,
): Promise<void> {
  const zone = await zones.findEnclosing(host);
  if (zone !== undefined && zone.account !== account) throw workerRoutingErrors.othersZone({ host, zone: zone.name });
}
