import type { RecordData, RecordType } from "../../protocol/dns/index.ts";

/** What the DNS server needs of a zone. */
export interface ServedZone {
  id: string;
  /** Normal. */
  name: string;
  serial: number;
  /** Its NS records beside those among its records; the first is the primary of SOA. */
  nameServers: readonly string[];
}

export interface ServedRecord {
  name: string;
  type: RecordType;
  /** Seconds. */
  ttl: number;
  data: RecordData;
  /** A CNAME that is answered as addresses. */
  flatten: boolean;
}

/** Where the DNS server reads. Names are normal; those asked by strangers may also hold \DDD (see readPlainName). */
export interface ServedZones {
  /** The nearest zone that `name` is in, if it is served here. */
  find(name: string): Promise<ServedZone | undefined>;
  /** All records of these names. */
  records(zone: ServedZone, names: readonly string[]): Promise<ServedRecord[]>;
  /** Whether there is any record at `name` or below it (RFC 4592 2.2.2: such a name exists). */
  occupied(zone: ServedZone, name: string): Promise<boolean>;
  /** A number that changes with the zone; undefined where that cannot be known. */
  version(zone: string): number | undefined;
}
