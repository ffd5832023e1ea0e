import { hasNamedFields } from "../../protocol/dns/index.ts";
import { plannedItem, type Context } from "../context.ts";
import type { PlannedItem } from "../port.ts";
import { apiPath, collect, readNumberedPages } from "../requests.ts";
import type { SourceZone } from "./zone.ts";

interface DnsRecord {
  id: string;
  type: string;
  name: string;
  content?: string;
  data?: Record<string, unknown>;
  priority?: number;
  ttl?: number;
  proxied?: boolean;
  comment?: string | null;
  tags?: string[];
  settings?: Record<string, unknown>;
  meta?: { managed_by?: unknown; read_only?: unknown; email_routing?: unknown };
}

const recordsOf = (api: Context["source"]["api"], zone: string): Promise<DnsRecord[]> =>
  collect(readNumberedPages<DnsRecord>(api, apiPath`/zones/${zone}/dns_records`, { perPage: 100 }));

/** Plans the import of the records of a zone. `zoneItem` receives the losses that concern the whole zone. */
export async function planRecords(context: Context, zone: SourceZone, zoneItem: PlannedItem): Promise<PlannedItem[]> {
  const targetZone = context.ids.find("zone", zone.id);
  const [sourceRecords, targetRecords] = await Promise.all([
    recordsOf(context.source.api, zone.id),
    targetZone === undefined ? [] : recordsOf(context.target.api, targetZone),
  ]);
  const own = sourceRecords.filter((record) => !isOfTheService(record, zone.name));
  const left = sourceRecords.length - own.length;
  const proxied = own.filter((record) => record.proxied === true).length;
  const losses = [
    ...(left === 0
      ? []
      : [
          `${left} DNS records of the hosted service are not imported: this server creates its own for mail and name servers`,
        ]),
    ...(proxied === 0
      ? []
      : [`${proxied} proxied records are published as DNS-only, because this server has no proxy`]),
  ];
  if (losses.length > 0) zoneItem.losses = [...(zoneItem.losses ?? []), ...losses];
  const matchTarget = createMatcher(context, targetRecords);
  return own.map((record) => planRecord(context, zone, record, matchTarget(record)));
}

function planRecord(
  context: Context,
  zone: SourceZone,
  record: DnsRecord,
  existing: DnsRecord | undefined,
): PlannedItem {
  const wanted = requestOf(record);
  return plannedItem(context, {
    kind: "DNS record",
    key: `record ${zone.id} ${record.id}`,
    name: `${record.name} ${record.type} ${(record.content ?? "").slice(0, 80)}`,
    source: wanted,
    target: existing && requestOf(existing),
    async apply() {
      const base = apiPath`/zones/${context.ids.require("zone", zone.id, `The zone ${zone.name}`)}/dns_records`;
      const { api } = context.target;
      const made =
        existing === undefined
          ? await api.result<DnsRecord>("POST", base, { json: wanted })
          : await api.result<DnsRecord>("PUT", base + apiPath`/${existing.id}`, { json: wanted });
      context.ids.set("record", record.id, made.id);
    },
  });
}

/** Finds the record imported earlier, or else an identical one; each target record is used only once. */
function createMatcher({ ids }: Context, records: readonly DnsRecord[]) {
  const byId = new Map(records.map((record) => [record.id, record]));
  const byContent = Map.groupBy(records, contentKey);
  return (record: DnsRecord): DnsRecord | undefined => {
    const found =
      byId.get(ids.find("record", record.id) ?? "") ??
      byContent.get(contentKey(record))?.find(({ id }) => byId.has(id));
    if (found !== undefined) byId.delete(found.id);
    return found;
  };
}

const contentKey = ({ type, name, content, priority }: DnsRecord) =>
  [type, name.toLowerCase(), plainContent(type, content ?? ""), priority ?? ""].join(" ");

/** The API returns TXT content with or without quotes. */
const plainContent = (type: string, content: string) =>
  type === "TXT" ? content.replace(/^"(.*)"$/s, "$1").replaceAll('" "', "") : content.toLowerCase();

function requestOf({ type, name, content = "", data, priority, ttl = 1, proxied, comment, tags, settings }: DnsRecord) {
  const hasData = hasNamedFields(type) && data !== undefined && Object.keys(data).length > 0;
  const flags = Object.entries(settings ?? {}).filter(([, value]) => value === true);
  return {
    type,
    name,
    ...(hasData ? { data } : { content: withoutRoutingInclude(type, content) }),
    ...(priority !== undefined && !hasData && { priority }),
    ttl,
    ...(proxied === true && { proxied }),
    ...(comment && { comment }),
    ...(tags !== undefined && tags.length > 0 && { tags }),
    ...(flags.length > 0 && { settings: Object.fromEntries(flags) }),
  };
}

const ROUTING_SPF = "include:_spf.mx.cloudflare.net";
/** The hosted service no longer sends mail for the domain; Email Routing of the target adds its own mechanism. */
const withoutRoutingInclude = (type: string, content: string) =>
  type === "TXT" && content.includes("v=spf1") ? content.replace(` ${ROUTING_SPF}`, "") : content;

/** True for records that belong to the infrastructure of the source, not to its user. */
function isOfTheService({ type, name, content = "", meta = {} }: DnsRecord, zone: string): boolean {
  if (meta.read_only === true || meta.email_routing === true || meta.managed_by != null) return true;
  if (type === "SOA" || (type === "NS" && name === zone)) return true;
  if (type === "MX" && /\.mx\.cloudflare\.net\.?$/i.test(content)) return true;
  if (type !== "TXT") return false;
  return (
    /^cf\d{4}-\d+\._domainkey\./i.test(name) ||
    plainContent("TXT", content)
      .trim()
      .replace(/ [~?-]all$/, "") === `v=spf1 ${ROUTING_SPF}`
  );
}
