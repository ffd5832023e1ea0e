import { connectToApi } from "../api/connect.ts";
import { collectItems, pagesOf } from "../api/lists.ts";
import { type Command, defineCommand } from "../command.ts";
import { dkimTable, type ApiDkimKey } from "../email/dkim.ts";
import {
  yesNo,
  type ApiRoutingSettings,
  routingLines,
  neededRecordTable,
  type NeededDnsRecord,
} from "../email/routing.ts";
import { connectZone, zoneOptions, nameIn } from "../email/zone.ts";
import { formatUtcTime, printResult, table } from "../print.ts";
import { serverOptions } from "../shared-options.ts";

const emailRoutingList = defineCommand({
  name: "email routing list",
  summary: "list zones with their Email Routing status",
  options: serverOptions,
  examples: [["reelpost email routing list", "in the whole account"]],
  async run(values, _, context) {
    const { api, base } = await connectToApi(values, context);
    const zones = await collectItems(pagesOf<ApiRoutingSettings>(api, `${base}/email/routing/zones`, { perPage: 50 }));
    printResult(context, zones, (paint) =>
      table(
        ["domain", "enabled", "status", "changed", "zone"],
        zones.map((zone) => [zone.name, yesNo(zone.enabled), zone.status, formatUtcTime(zone.modified), zone.id]),
        paint,
      ),
    );
    return 0;
  },
});

const emailRoutingSettings = defineCommand({
  name: "email routing settings",
  summary: "show the Email Routing settings of a domain",
  arguments: [{ name: "domain", summary: "domain such as example.com", required: true }],
  options: zoneOptions,
  examples: [["reelpost email routing settings example.com", "includes the status of its DNS records"]],
  async run(values, [domain], context) {
    const zone = await connectZone(domain!, values, context);
    const settings = await zone.api.result<ApiRoutingSettings>("GET", `${zone.path}/email/routing`);
    printResult(context, settings, (paint) => routingLines(settings, paint));
    return 0;
  },
});

const emailRoutingEnable = defineCommand({
  name: "email routing enable",
  summary: "enable Email Routing for a domain or a subdomain",
  description: "MX records of another mail service are never replaced: delete them first.",
  arguments: [{ name: "domain", summary: "domain such as example.com", required: true }],
  options: zoneOptions,
  examples: [["reelpost email routing enable example.com", "creates and locks its MX, SPF and DKIM records"]],
  async run(values, [domain], context) {
    const zone = await connectZone(domain!, values, context);
    const settings = await zone.api.result<ApiRoutingSettings>("POST", `${zone.path}/email/routing/dns`, {
      json: nameIn(zone),
    });
    printResult(context, settings, (paint) => routingLines(settings, paint));
    return 0;
  },
});

const emailRoutingDisable = defineCommand({
  name: "email routing disable",
  summary: "disable Email Routing for a domain",
  arguments: [{ name: "domain", summary: "domain such as example.com", required: true }],
  options: zoneOptions,
  examples: [["reelpost email routing disable example.com", "deletes the records that `enable` created"]],
  async run(values, [domain], context) {
    const zone = await connectZone(domain!, values, context);
    const settings = await zone.api.result<ApiRoutingSettings>("DELETE", `${zone.path}/email/routing/dns`, {
      json: nameIn(zone),
    });
    printResult(context, settings, (paint) => routingLines(settings, paint));
    return 0;
  },
});

const emailRoutingDnsGet = defineCommand({
  name: "email routing dns get",
  summary: "show the DNS records that Email Routing needs",
  arguments: [{ name: "domain", summary: "domain such as example.com", required: true }],
  options: zoneOptions,
  examples: [["reelpost email routing dns get example.com", "to copy to another DNS server"]],
  async run(values, [domain], context) {
    const zone = await connectZone(domain!, values, context);
    const { name } = nameIn(zone);
    const found = await zone.api.result<NeededDnsRecord[] | { record: NeededDnsRecord[] }>(
      "GET",
      `${zone.path}/email/routing/dns`,
      {
        query: { subdomain: name },
      },
    );
    const records = Array.isArray(found) ? found : found.record;
    printResult(context, records, (paint) => neededRecordTable(records, paint));
    return 0;
  },
});

const emailRoutingDnsUnlock = defineCommand({
  name: "email routing dns unlock",
  summary: "unlock the MX records of a domain",
  arguments: [{ name: "domain", summary: "domain such as example.com", required: true }],
  options: zoneOptions,
  examples: [["reelpost email routing dns unlock example.com", "allows changes to the records"]],
  async run(values, [domain], context) {
    const zone = await connectZone(domain!, values, context);
    const settings = await zone.api.result<ApiRoutingSettings>("PATCH", `${zone.path}/email/routing/dns`, {
      json: nameIn(zone),
    });
    printResult(context, settings, (paint) => routingLines(settings, paint));
    return 0;
  },
});

const emailRoutingDkimList = defineCommand({
  name: "email routing dkim list",
  summary: "list the DKIM keys for forwarded mail of a domain",
  arguments: [{ name: "domain", summary: "domain such as example.com or mail.example.com", required: true }],
  options: zoneOptions,
  examples: [["reelpost email routing dkim list example.com", "the active key and its successor"]],
  async run(values, [domain], context) {
    const zone = await connectZone(domain!, values, context);
    const keys = await zone.api.result<ApiDkimKey[]>("GET", `${zone.path}/email/routing/dkim`, {
      query: { subdomain: nameIn(zone).name },
    });
    printResult(context, keys, (paint) => dkimTable(keys, paint));
    return 0;
  },
});

const emailRoutingDkimRotate = defineCommand({
  name: "email routing dkim rotate",
  summary: "rotate the DKIM keys for forwarded mail of a domain",
  description:
    "The new keys are published immediately, and are used for signing once their records are visible everywhere. The old keys stay in DNS for mail in transit.",
  arguments: [{ name: "domain", summary: "domain such as example.com or mail.example.com", required: true }],
  options: zoneOptions,
  examples: [["reelpost email routing dkim rotate example.com", "without interruption"]],
  async run(values, [domain], context) {
    const zone = await connectZone(domain!, values, context);
    const keys = await zone.api.result<ApiDkimKey[]>("POST", `${zone.path}/email/routing/dkim/rotate`, {
      json: nameIn(zone),
    });
    printResult(context, keys, (paint) => dkimTable(keys, paint));
    return 0;
  },
});

export const emailRoutingCommands: readonly Command[] = [
  emailRoutingList,
  emailRoutingSettings,
  emailRoutingEnable,
  emailRoutingDisable,
  emailRoutingDnsGet,
  emailRoutingDnsUnlock,
  emailRoutingDkimList,
  emailRoutingDkimRotate,
];
