import type { RecordType } from "../../../protocol/dns/index.ts";
import type { RecordRequest, RecordZone } from "../../records/types.ts";

/** A record that every provider can store; see RecordDraft. */
export interface ProviderRecord {
  /** Normalized and absolute. */
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

/** A set that must contain only what the change adds or removes, such as MX at the domain. */
export interface ExclusiveSet extends RecordSetName {
  /** TXT only: only texts with this prefix belong to the set, such as `v=spf1`. Lower case. */
  text?: string;
}

export interface DnsChange {
  /** The component that requests the change, such as "email-routing". */
  owner: string;
  /** Users cannot change the added records. Only supported by the embedded provider. */
  locked?: boolean;
  /** Shown in `meta` of each record. */
  meta?: Record<string, unknown>;
  /** Existing records are left unchanged. */
  add: readonly RecordRequest[];
  /** Missing records are ignored. */
  remove: readonly RecordRequest[];
  mustBeAbsent: readonly ExclusiveSet[];
}

/** Stores the records of a zone. All implementations run the same conformance suite. */
export interface DnsProvider {
  readonly kind: "embedded" | "rfc2136" | "powerdns";
  /** Atomic and idempotent. Throws dnsErrors, and zoneErrors.dnsInvalid for invalid records. */
  apply(zone: RecordZone, change: DnsChange, signal?: AbortSignal): Promise<void>;
  /** Returns the current records in these sets. */
  current(zone: RecordZone, sets: readonly RecordSetName[], signal?: AbortSignal): Promise<ProviderRecord[]>;
}
