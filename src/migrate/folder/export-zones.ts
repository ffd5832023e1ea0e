import type { SourceZone } from "../kinds/zone.ts";
import { zonesOf } from "../kinds/zones.ts";
import type { PlannedItem } from "../port.ts";
import { apiPath } from "../requests.ts";
import { listItem, saveResult, unlessUnavailable, type ExportContext } from "./export-context.ts";
import { apiFile, zoneFile } from "./layout.ts";

/** Plans the export of zones with their DNS records, and of the rules and routes of the selected parts. */
export async function exportZones(context: ExportContext): Promise<PlannedItem[]> {
  const zones = await unlessUnavailable(context, "/zones", zonesOf(context));
  if (zones === undefined) return [];
  return [
    {
      ...listItem("zones"),
      apply: () => context.files.writeJson(apiFile("/zones"), zones),
    },
    ...zones.map((zone): PlannedItem => ({
      kind: "zone",
      key: `zone ${zone.id}`,
      name: zone.name,
      action: "new",
      apply: () => exportZone(context, zone),
    })),
  ];
}

async function exportZone(context: ExportContext, { id, name }: SourceZone): Promise<void> {
  const { areas, source, files } = context;
  const path = (rest: string) => apiPath`/zones/${id}` + rest;
  const saveList = async (rest: string, kind: string, perPage = 50) => {
    const list = await saveResult<unknown[]>(context, path(rest), { pages: "numbered", perPage });
    context.count(kind, list?.length ?? 0);
  };
  context.count("zone", 1);
  await saveList("/dns_records", "DNS record", 100);
  if (areas.has("zones")) {
    const exportPath = path("/dns_records/export");
    const response = await unlessUnavailable(context, exportPath, source.api.raw("GET", exportPath));
    if (response !== undefined) await files.write(zoneFile(name), [await response.text()]);
  }
  if (areas.has("email")) {
    await saveResult(context, path("/email/routing"));
    await saveList("/email/routing/rules", "routing rule");
    await saveResult(context, path("/email/routing/rules/catch_all"));
    await saveList("/email/sending/subdomains", "sending domain", 100);
  }
  if (areas.has("workers")) {
    const routes = await saveResult<unknown[]>(context, path("/workers/routes"));
    context.count("worker route", routes?.length ?? 0);
  }
}
