import { routingErrors } from "./errors.ts";
import { hostOf, isWithin } from "./pattern.ts";
import type { RoutingZone, RoutingZones } from "./port.ts";

/** The zone of a host: the given one, or the closest one that contains it. Throws zoneMissing. */
export async function zoneFor(
  zones: RoutingZones,
  account: string,
  { host, zoneId, zoneName }: { host: string; zoneId?: string | undefined; zoneName?: string | undefined },
): Promise<RoutingZone> {
  const name = zoneName === undefined ? undefined : (hostOf(zoneName) ?? zoneName.toLowerCase());
  const zone = zoneId === undefined ? await zones.enclosing(name ?? host) : await zones.find(zoneId);
  const isMeant = name === undefined || zone?.name === name;
  if (zone?.account !== account || !isMeant || !isWithin(host, zone.name))
    throw routingErrors.zoneMissing({
      name: zoneId === undefined ? (zoneName ?? host) : `${host} with the id ${zoneId}`,
    });
  return zone;
}
