import { connectToApi } from "../api/connect.ts";
import { confirm } from "../ask.ts";
import { type Command, defineCommand } from "../command.ts";
import { listAccountZones, connectZone, zoneOptions } from "../email/zone.ts";
import { commandErrors } from "../errors.ts";
import { printResult, formatUtcTime, table } from "../print.ts";
import { serverOptions, yesOption } from "../shared-options.ts";

const zoneCreate = defineCommand({
  name: "zone create",
  summary: "create a zone for a domain",
  arguments: [{ name: "domain", summary: "domain such as example.com", required: true }],
  options: serverOptions,
  examples: [["reelpost zone create example.com", "prints the name servers to enter at the registrar"]],
  async run(values, [domain], context) {
    const { api, account } = await connectToApi(values, context);
    const zone = await api.result<{ id: string; name: string; name_servers: string[] }>("POST", "/zones", {
      json: { name: domain, account: { id: account } },
    });
    printResult(context, zone, () => [
      `Created ${zone.name} (${zone.id}). Set these name servers at its registrar: ${zone.name_servers.join(", ")}`,
    ]);
    return 0;
  },
});

const zoneList = defineCommand({
  name: "zone list",
  summary: "list zones",
  options: serverOptions,
  examples: [["reelpost zone list", "in the whole account"]],
  async run(values, _, context) {
    const zones = await listAccountZones(await connectToApi(values, context));
    printResult(context, zones, (paint) =>
      table(
        ["id", "domain", "status", "added"],
        zones.map((zone) => [zone.id, zone.name, zone.status, formatUtcTime(zone.created_on)]),
        paint,
      ),
    );
    return 0;
  },
});

const zoneDelete = defineCommand({
  name: "zone delete",
  summary: "delete a zone with its records and rules",
  arguments: [{ name: "domain", summary: "domain such as example.com", required: true }],
  options: { ...yesOption, ...zoneOptions },
  examples: [["reelpost zone delete example.com", "the server then rejects its mail"]],
  async run({ yes, ...values }, [domain], context) {
    const { api, path, zone, domain: domainOption } = await connectZone(domain!, values, context);
    if (zone.name !== domainOption) throw commandErrors.zoneUnknown({ domain: domainOption });
    await confirm(`Delete ${zone.name} with its records and rules?`, yes, context);
    await api.result("DELETE", path);
    printResult(context, { id: zone.id, deleted: true }, () => [`Deleted ${zone.name}`]);
    return 0;
  },
});

const zoneExport = defineCommand({
  name: "zone export",
  summary: "print the records of a domain as a zone file",
  arguments: [{ name: "domain", summary: "domain such as example.com", required: true }],
  options: zoneOptions,
  examples: [["reelpost zone export example.com > example.com.zone", "for another DNS server"]],
  async run(values, [domain], context) {
    const { api, path } = await connectZone(domain!, values, context);
    const file = await (await api.raw("GET", `${path}/dns_records/export`)).text();
    printResult(context, { file }, () => [file.trimEnd()]);
    return 0;
  },
});

export const zoneCommands: readonly Command[] = [zoneCreate, zoneList, zoneDelete, zoneExport];
