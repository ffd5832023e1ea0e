import type { RecordType } from "../../../protocol/dns/index.ts";
import type { RecordRequest, RecordZone } from "../../records/types.ts";

/** A record as every provider can keep it; see RecordDraft. */
export interface ProviderRecord {
  /** Normal and absolute. */
  name: string;
  type: RecordType;
  content: string;
  priority: number | null;
  /** Seconds; 1 is automatic. */
  ttl: number;
}

export interface RecordSetName {
  name: string;
  type: RecordType;
}

/** A set that must hold nothing but what the change adds or removes, such as MX at the domain. */
export interface ExclusiveSet extends RecordSetName {
  /** Only of TXT: only texts that begin so count, such as `v=spf1`. In lower case. */
  text?: string;
}

export interface DnsChange {
  /** The part of the platform that asks, such as "email-routing". */
  owner: string;
  /** People cannot change what is added. Only where the records are ours (embedded, manual). */
  locked?: boolean;
  /** Shown in `meta` of each record there. */
  meta?: Record<string, unknown>;
  /** What is there already stays as it is. */
  add: readonly RecordRequest[];
  /** What is not there need not be removed. */
  remove: readonly RecordRequest[];
  mustBeAbsent: readonly ExclusiveSet[];
}

/** Where a zone's records are kept. One conformance suite runs on every implementation. */
export interface DnsProvider {
  readonly kind: "embedded" | "rfc2136" | "powerdns" | "manual";
  /** All or nothing, and again the same when done twice. Throws dnsErrors, and zoneErrors.dnsInvalid for records that cannot be. */
  apply(zone: RecordZone, change: DnsChange, signal?: AbortSignal): Promise<void>;
  /** What stands in these sets now. */
  current(zone: RecordZone, sets: readonly RecordSetName[], signal?: AbortSignal): Promise<ProviderRecord[]>;
}
