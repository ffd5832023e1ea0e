import { silentLog, type Clock, type Ids, type Log } from "../../kernel/index.ts";
import type { Db, Events } from "../../store/index.ts";
import { ZONE_DELETED, type DnsRecord, type Zone, type Zones } from "../../zones/index.ts";
import { txtText } from "../../protocol/dns/index.ts";
import { isSpf } from "../../protocol/spf/index.ts";
import { isDmarc, ruaOf, withoutRua, withRua } from "../../protocol/dmarc/index.ts";
import { dmarcStatistics, type DmarcStatistics, type StatisticsRequest } from "./dmarc-statistics.ts";
import { tlsStatistics, type TlsStatistics } from "./tls-statistics.ts";
import { createReportIntake, RETENTION_DAYS, type ReportIntake } from "./report-intake.ts";
import type { ReportBounds } from "./received-table.ts";
import { createReportRows } from "./report-rows-table.ts";
import {
  deleteReports,
  upsertReports,
  reportsByPrefix,
  reportsOf,
  zonesWithReports,
  type DmarcReportRow,
  type DmarcReportTables,
} from "./reports-table.ts";

type DmarcReportStatus =
  | "missing-dmarc-report"
  | "multiple-dmarc-reports"
  | "missing-dmarc-rua"
  | "cname-on-dmarc-record";

/** DNS records of a zone that authorize its senders. */
export interface MailAuthRecords {
  dmarc: DnsRecord[];
  dmarcAlias: DnsRecord[];
  /** Result of a lookup of _dmarc if the zone does not contain this record. */
  dmarcResolved: { name: string; content: string }[];
  spf: DnsRecord[];
  spfAlias: DnsRecord[];
  dkim: DnsRecord[];
  dkimAlias: DnsRecord[];
  bimi: DnsRecord[];
}

export interface DmarcReports extends DmarcReportRow {
  /** Undefined if everything is correct. */
  status: DmarcReportStatus | undefined;
  records: MailAuthRecords;
}

export interface DmarcReporting extends ReportIntake {
  of(zone: Zone): Promise<DmarcReports>;
  /**
   * Omitted fields keep their values. Enabling adds the report address to the zone's DMARC record, which is created if
   * missing. Throws the errors of record changes.
   */
  update(
    zone: Zone,
    change: { enabled?: boolean | undefined; skipWizard?: boolean | undefined },
  ): Promise<DmarcReports>;
  /**
   * Returns the zone with this report address. Undefined for any other address, and if the zone requests no reports.
   */
  zoneByAddress(address: string): Promise<{ zone: string; account: string } | undefined>;
  /** Returns the address for TLS reports as a URI; from then on the address accepts them. */
  tlsReportUri(zone: Zone): Promise<string>;
  /** Counts of received TLS reports. */
  tlsStatistics(zone: string, request: StatisticsRequest): Promise<TlsStatistics>;
  /** Counts of received aggregate reports. */
  statistics(zone: string, request: StatisticsRequest): Promise<DmarcStatistics>;
  /**
   * Deletes the data of deleted zones. This happens automatically when a zone is deleted; call it at startup for zones
   * whose notification was missed.
   */
  deleteOrphans(): Promise<void>;
  close(): void;
}

export interface DmarcReportingOptions {
  db: Db;
  events: Events;
  zones: Zones;
  clock: Pick<Clock, "now">;
  ids: Pick<Ids, "hex">;
  /** Domain that receives reports. */
  domain: string;
  /** Queries public DNS. Rejects if no records exist. */
  resolveTxt(name: string): Promise<string[][]>;
  log?: Log;
  bounds?: Partial<ReportBounds>;
}

/** A large receiver sends one report per domain per day, so statistics for 400 days fit easily. */
const BOUNDS: ReportBounds = { perSender: 100, rowsPerZone: 100_000 };
const DAY_MS = 86_400_000;

/** Maximum number of entries shown per list. */
const MAX_SHOWN = 100;
const TIDY_BATCH_SIZE = 500;

export function createDmarcReporting({
  db,
  events,
  zones,
  clock,
  ids,
  domain,
  resolveTxt,
  log = silentLog,
  bounds,
}: DmarcReportingOptions): DmarcReporting {
  const tables = db.tables<DmarcReportTables>();
  const rows = createReportRows(db, { ...BOUNDS, ...bounds });
  const intake = createReportIntake({ rows, zones, clock });
  let expiredAt = clock.now();
  const { managed } = zones.records;
  const uriOf = ({ ruaPrefix }: DmarcReportRow) => `mailto:${ruaPrefix}@${domain}`;

  const recordsNamed = async (zone: Zone, type: string, label: string) =>
    (await zones.records.list(zone.id, { type, name: { contains: label } }, { page: 1, perPage: MAX_SHOWN })).items;

  async function recordsOf(zone: Zone): Promise<MailAuthRecords> {
    const [apex, policy, dkim, dkimAlias, bimi] = await Promise.all([
      managed.at(zone.id, zone.name, ["TXT", "CNAME"]),
      managed.at(zone.id, `_dmarc.${zone.name}`, ["TXT", "CNAME"]),
      recordsNamed(zone, "TXT", "._domainkey."),
      recordsNamed(zone, "CNAME", "._domainkey."),
      recordsNamed(zone, "TXT", "._bimi."),
    ]);
    const dmarc = policy.filter(({ type, content }) => type === "TXT" && isDmarc(txtText(content)));
    const resolvedTexts = dmarc.length > 0 ? [] : await resolveTxt(`_dmarc.${zone.name}`).catch(() => []);
    return {
      dmarc,
      dmarcAlias: policy.filter(({ type }) => type === "CNAME"),
      dmarcResolved: resolvedTexts
        .map((strings) => strings.join(""))
        .filter(isDmarc)
        .map((content) => ({ name: `_dmarc.${zone.name}`, content })),
      spf: apex.filter(({ type, content }) => type === "TXT" && isSpf(txtText(content))),
      spfAlias: apex.filter(({ type }) => type === "CNAME"),
      dkim,
      dkimAlias,
      bimi,
    };
  }

  /** Resolves with the row of the zone, created on first use because its prefix must not change. */
  async function rowOf(zone: Zone): Promise<DmarcReportRow> {
    const kept = await reportsOf(tables, zone.id);
    if (kept !== undefined) return kept;
    const now = clock.now();
    await upsertReports(tables, {
      zone: zone.id,
      account: zone.account,
      ruaPrefix: ids.hex(),
      enabled: false,
      skipWizard: false,
      tls: false,
      createdAt: now,
      modifiedAt: now,
    });
    return (await reportsOf(tables, zone.id))!;
  }

  async function toReports(zone: Zone): Promise<DmarcReports> {
    const row = await rowOf(zone);
    const records = await recordsOf(zone);
    return { ...row, records, status: statusOf(records, uriOf(row)) };
  }

  async function addReportUri(zone: Zone, uri: string): Promise<void> {
    const { dmarc, dmarcAlias } = await recordsOf(zone);
    // Two records are invalid, and an alias points to another zone's record: the status reports either case.
    if (dmarc.length > 1 || dmarcAlias.length > 0) return;
    const [dmarcRecord] = dmarc;
    if (dmarcRecord === undefined)
      return void (await zones.records.create(zone, {
        type: "TXT",
        name: `_dmarc.${zone.name}.`,
        content: `v=DMARC1; p=none; rua=${uri};`,
      }));
    await rewrite(zone, dmarcRecord, withRua(txtText(dmarcRecord.content), uri));
  }

  async function rewrite(zone: Zone, record: DnsRecord, text: string): Promise<void> {
    if (text === txtText(record.content)) return;
    if (!record.locked) return void (await zones.records.update(zone, record.id, { content: text }));
    // A platform record that now contains a setting of the user becomes a user record and will not be changed
    // automatically.
    await managed.alter(zone, { owner: record.managedBy!, add: [], remove: [record], locked: true });
    await zones.records.create(zone, { type: "TXT", name: `${record.name}.`, content: text, ttl: record.ttl });
  }

  async function expire(): Promise<void> {
    expiredAt = clock.now();
    await rows.expire(expiredAt - RETENTION_DAYS * DAY_MS);
  }

  async function forget(zone: string): Promise<void> {
    await rows.deleteZone(zone);
    // Comes last, because after a crash this row is needed to find the zone.
    await deleteReports(tables, zone);
  }

  async function deleteOrphans(): Promise<void> {
    await expire();
    for (let after: string | undefined = ""; after !== undefined;) {
      const kept: string[] = await zonesWithReports(tables, after, TIDY_BATCH_SIZE);
      for (const id of kept) if ((await zones.find(id)) === undefined) await forget(id);
      after = kept.length < TIDY_BATCH_SIZE ? undefined : kept.at(-1);
    }
  }

  const unsubscribe = events.subscribe(ZONE_DELETED, (zone) => {
    // An empty id means that some notifications were lost.
    (zone === "" ? deleteOrphans() : forget(zone)).catch((err: unknown) =>
      log.error({ err, zone }, "dmarc-reports: failed to delete data of a deleted zone"),
    );
  });

  return {
    of: toReports,
    async update(zone, { enabled, skipWizard }) {
      const row = await rowOf(zone);
      if (enabled === true) await addReportUri(zone, uriOf(row));
      if (enabled === false)
        for (const record of (await recordsOf(zone)).dmarc)
          await rewrite(zone, record, withoutRua(txtText(record.content), uriOf(row)));
      await upsertReports(tables, {
        ...row,
        enabled: enabled ?? row.enabled,
        skipWizard: skipWizard ?? row.skipWizard,
        modifiedAt: clock.now(),
      });
      return toReports(zone);
    },
    async zoneByAddress(address) {
      const [, prefix, host] = /^([0-9a-f]{32})@(.+)$/.exec(address.toLowerCase()) ?? [];
      const row = host === domain ? await reportsByPrefix(tables, prefix!) : undefined;
      return row?.enabled || row?.tls ? { zone: row.zone, account: row.account } : undefined;
    },
    async accept(mail) {
      const intakeResult = await intake.accept(mail);
      if (!intakeResult.recorded)
        log.info({ zone: mail.zone, from: mail.envelope.from, why: intakeResult.why }, "dmarc-reports: report ignored");
      if (clock.now() - expiredAt > DAY_MS) await expire();
      return intakeResult;
    },
    async tlsReportUri(zone) {
      const row = await rowOf(zone);
      if (!row.tls) await upsertReports(tables, { ...row, tls: true });
      return uriOf(row);
    },
    tlsStatistics: (zone, request) => tlsStatistics(rows, zone, request),
    statistics: (zone, request) => dmarcStatistics(rows, zone, request),
    deleteOrphans,
    close: unsubscribe,
  };
}

function statusOf({ dmarc, dmarcAlias, dmarcResolved }: MailAuthRecords, uri: string): DmarcReportStatus | undefined {
  const texts =
    dmarc.length > 0 ? dmarc.map(({ content }) => txtText(content)) : dmarcResolved.map(({ content }) => content);
  // RFC 7489 6.6.3: two records count as no record.
  if (texts.length > 1) return "multiple-dmarc-reports";
  if (texts.length === 0) return dmarcAlias.length > 0 ? "cname-on-dmarc-record" : "missing-dmarc-report";
  // Behind an alias the record belongs to another zone; it only needs to exist.
  if (dmarc.length === 0 && dmarcAlias.length > 0) return undefined;
  return ruaOf(texts[0]!).includes(uri) ? undefined : "missing-dmarc-rua";
}
