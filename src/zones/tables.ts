import type { Kysely } from "kysely";
import type { ZoneStatus, ZoneType } from "./types.ts";

export interface ZoneTables {
  zones: {
    id: string;
    account_id: string;
    name: string;
    type: ZoneType;
    status: ZoneStatus;
    paused: number;
    /** JSON. */
    name_servers: string;
    /** JSON. */
    vanity_name_servers: string;
    verification_key: string | null;
    created_at: number;
    modified_at: number;
    activated_at: number | null;
    serial: number;
  };
  dns_records: {
    id: string;
    zone_id: string;
    account_id: string;
    type: string;
    name: string;
    /** The name with its labels in reverse, com.example.www: names below one another stand together in the index. */
    reversed: string;
    /** Presentation of the data, without the priority of MX, SRV and URI. ASCII. */
    content: string;
    /** The first characters of content in lower case: what lists are sorted by. Whole contents do not fit into an index of PostgreSQL. */
    content_key: string;
    /** Of type, priority and content in one spelling: equal records have equal digests. */
    digest: string;
    priority: number | null;
    /** JSON; null for types without fields of their own. */
    data: string | null;
    ttl: number;
    proxied: number;
    private_routing: number;
    /** JSON. */
    settings: string | null;
    comment: string | null;
    /** In lower case. */
    comment_key: string | null;
    comment_at: number | null;
    /** JSON. */
    tags: string | null;
    tags_at: number | null;
    created_at: number;
    modified_at: number;
    /** The part of the platform that keeps this record, such as "email-routing". */
    managed_by: string | null;
    locked: number;
    /** JSON: shown in `meta` of the record. */
    meta: string | null;
  };
  /** Tags once more, in lower case, to search by. */
  dns_record_tags: { zone_id: string; record_id: string; name: string; value: string };
  /** How many records there are, so that no list counts them. */
  dns_record_counts: { zone_id: string; type: string; records: number };
}

export type Executor = Kysely<ZoneTables>;
