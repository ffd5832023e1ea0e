import { presentData, type RecordData } from "./record-data.ts";
import type { RecordType } from "./record-types.ts";

interface WritableRecord {
  /** Name in normal form, without the final dot. */
  name: string;
  ttl: number;
  comment?: string | undefined;
}

/** Formats one line of a master file. All names are absolute, so that no line depends on another. */
export const zoneFileLine = (record: WritableRecord & { type: RecordType; data: RecordData }): string =>
  formatLine(record, record.type, presentData(record.type, record.data, { absolute: true }));

interface StartOfAuthority {
  nameServer: string;
  serial: number;
}

/**
 * Times in seconds. `minimum` determines how long resolvers cache negative responses (RFC 2308 4); it is short so that
 * new records become visible quickly.
 */
export const SOA_TIMES = { ttl: 3600, refresh: 10_000, retry: 2400, expire: 604_800, minimum: 300 } as const;

/** Returns the SOA record, with the times that most registries recommend (RIPE 203). */
export const soaLine = (zone: string, { nameServer, serial }: StartOfAuthority): string =>
  formatLine(
    { name: zone, ttl: SOA_TIMES.ttl },
    "SOA",
    `${nameServer}. hostmaster.${zone}. ${serial} ${SOA_TIMES.refresh} ${SOA_TIMES.retry} ${SOA_TIMES.expire} ${SOA_TIMES.minimum}`,
  );

function formatLine({ name, ttl, comment }: WritableRecord, type: string, data: string): string {
  const remark = comment?.replace(/[\r\n]+/g, " ").trim() ?? "";
  return `${name}.\t${ttl}\tIN\t${type}\t${data}${remark === "" ? "" : ` ; ${remark}`}\n`;
}
