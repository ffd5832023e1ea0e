import type { RecordData, RecordType } from "../../protocol/dns/index.ts";

/** The properties of a zone that the DNS server needs. */
export interface ServedZone {
  id: string;
  /** Zone name in normal form. */
  name: string;
  serial: number;
  /** Its NS records in addition to the stored ones; the first is the primary in the SOA. */
  nameServers: readonly string[];
}

export interface ServedRecord {
  name: string;
  type: RecordType;
  /** Seconds. */
  ttl: number;
  data: RecordData;
  /** A CNAME that is answered with the addresses of its target. */
  flatten: boolean;
}

/**
 * Data source of the DNS server. Names are normalized; queried names may also contain \DDD (see readUncompressedName).
 */
export interface ServedZones {
  /** Resolves with the closest zone that contains `name`, if this server serves it. */
  find(name: string): Promise<ServedZone | undefined>;
  /** Resolves with all records with these names. */
  records(zone: ServedZone, names: readonly string[]): Promise<ServedRecord[]>;
  /** True if a record exists at `name` or below it (RFC 4592 2.2.2: such a name exists). */
  occupied(zone: ServedZone, name: string): Promise<boolean>;
  /** Returns a number that changes whenever the zone changes; undefined if unknown. */
  version(zone: string): number | undefined;
}
