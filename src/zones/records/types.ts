import type { RecordType } from "../../protocol/dns/index.ts";

/** What a person or a program asks for; everything still to be checked. */
export interface RecordRequest {
  type: string;
  /** Relative to the zone or absolute; "@" is the zone. */
  name: string;
  content?: string | undefined;
  data?: Record<string, unknown> | undefined;
  /** Of MX, SRV and URI; also in `data`. */
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

/** A record that is in order, without what makes it a kept one. */
export interface RecordDraft {
  type: RecordType;
  /** Normal and absolute, without a dot at the end. */
  name: string;
  /** Presentation of the data, without the priority of MX, SRV and URI; names without a dot at the end. */
  content: string;
  priority: number | null;
  /** For types that the API shows by their fields. */
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
  /** The part of the platform that keeps it, such as "email-routing". */
  managedBy: string | null;
  /** Only `managedBy` may change it. */
  locked: boolean;
  meta: Record<string, unknown> | null;
}

/** The zone as records need it. */
export interface RecordZone {
  id: string;
  account: string;
  name: string;
}

export const AUTO_TTL = 1;
export const MIN_TTL = 60;
export const MAX_TTL = 86_400;
