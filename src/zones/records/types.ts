import type { RecordType } from "../../protocol/dns/index.ts";

/** A record as requested by a user or program, not validated. */
export interface RecordRequest {
  type: string;
  /** Relative to the zone or absolute; "@" is the apex. */
  name: string;
  content?: string | undefined;
  data?: Record<string, unknown> | undefined;
  /** For MX, SRV and URI; also part of `data`. */
  priority?: number | undefined;
  /** Seconds; 1 is automatic. */
  ttl?: number | undefined;
  proxied?: boolean | undefined;
  privateRouting?: boolean | undefined;
  settings?: RecordSettings | undefined;
  comment?: string | null | undefined;
  tags?: string[] | undefined;
}

export interface RecordSettings {
  ipv4_only?: boolean | undefined;
  ipv6_only?: boolean | undefined;
  flatten_cname?: boolean | undefined;
}

/** A valid record that is not stored yet. */
export interface RecordDraft {
  type: RecordType;
  /** Name in normal form, absolute, without the final dot. */
  name: string;
  /** The data in presentation format, without the priority of MX, SRV and URI; names without a trailing dot. */
  content: string;
  /** The content of a TXT, CNAME or AAAA record as it was sent, which the API returns; null if it equals `content`. */
  written: string | null;
  priority: number | null;
  /** For types whose data the API returns as fields; otherwise null. */
  data: Record<string, unknown> | null;
  ttl: number;
  proxied: boolean;
  privateRouting: boolean;
  settings: RecordSettings | null;
  comment: string | null;
  tags: string[];
}

/** Times are epoch milliseconds. */
export interface DnsRecord extends RecordDraft {
  id: string;
  zone: string;
  account: string;
  createdAt: number;
  modifiedAt: number;
  commentAt: number | null;
  tagsAt: number | null;
  /** The component that manages it, such as "email-routing". */
  managedBy: string | null;
  /** Only `managedBy` may change it. */
  locked: boolean;
  meta: Record<string, unknown> | null;
}

/** The properties of a zone that are needed for records. */
export interface RecordZone {
  id: string;
  account: string;
  name: string;
}

export const AUTO_TTL = 1;
export const MIN_TTL = 60;
export const MAX_TTL = 86_400;
