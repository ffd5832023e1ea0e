import { impossibleItem, plannedItem, unlessRefused, type Context } from "../context.ts";
import type { PlannedItem } from "../port.ts";
import { apiPath, collect, readNumberedPages } from "../requests.ts";
import { planRecords } from "./dns-records.ts";
import { idHeader, type SourceZone } from "./zone.ts";

/** Resolves with zones of the source that exist on the target or will be created there. */
export const zonesOf = async ({ source }: Pick<Context, "source">): Promise<SourceZone[]> =>
  collect(readNumberedPages<SourceZone>(source.api, "/zones", { query: { "account.id": source.account } }));

/** Plans the import of zones and, for each, its DNS records. */
export async function planZones(context: Context, zones: readonly SourceZone[]): Promise<PlannedItem[]> {
  const items: PlannedItem[] = [];
  const isWanted = context.options.areas.has("zones");
  for (const zone of zones) {
    context.onStep?.(`comparing ${zone.name}`);
    const existing = (
      await context.target.api.result<SourceZone[]>("GET", "/zones", { query: { name: zone.name } })
    ).find(({ name }) => name === zone.name);
    if (existing !== undefined) context.ids.set("zone", zone.id, existing.id);
    if (!isWanted) continue;
    const item = planZone(context, zone, existing);
    items.push(item);
    if (item.action !== "impossible")
      items.push(...(await unlessRefused(`DNS records of ${zone.name}`, () => planRecords(context, zone, item))));
  }
  return items;
}

function planZone(context: Context, zone: SourceZone, existing: SourceZone | undefined): PlannedItem {
  const item = { kind: "zone", key: `zone ${zone.id}`, name: zone.name };
  const { type = "full" } = zone;
  if (type !== "full" && type !== "partial")
    return impossibleItem({ ...item, reason: `zones of type ${type} are not available on this server` });
  const losses = [
    ...(existing !== undefined && existing.id !== zone.id ? [`its id changes from ${zone.id} to ${existing.id}`] : []),
    ...(existing === undefined && !context.keepsIds ? ["its id changes"] : []),
  ];
  return plannedItem(context, {
    ...item,
    ...(losses.length > 0 && { losses }),
    source: { name: zone.name, type },
    target: existing && { name: existing.name, type: existing.type ?? "full" },
    async apply() {
      const { api, account } = context.target;
      if (existing !== undefined)
        return void (await api.result("PATCH", apiPath`/zones/${existing.id}`, { json: { type } }));
      const { id } = await api.result<SourceZone>("POST", "/zones", {
        json: { name: zone.name, account: { id: account }, type },
        headers: idHeader(context, zone.id),
      });
      context.ids.set("zone", zone.id, id);
    },
  });
}
