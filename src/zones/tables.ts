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
    /** The name with reversed labels, com.example.www: names of one subtree are adjacent in the index. */
    reversed: string;
    /** The data in presentation format, without the priority of MX, SRV and URI. ASCII. */
    content: string;
    /** The content as it was sent, if it differs. */
    written: string | null;
    /**
     * The first characters of the content in lower case, for sorting. PostgreSQL cannot index arbitrarily long
     * contents.
     */
    content_key: string;
    /** Digest of type, priority and content in canonical form: equal records have equal digests. */
    digest: string;
    priority: number | null;
    /** JSON; null for types without fields. */
    data: string | null;
    ttl: number;
    proxied: number;
    private_routing: number;
    /** JSON. */
    settings: string | null;
    comment: string | null;
    /** Lower case. */
    comment_key: string | null;
    comment_at: number | null;
    /** JSON. */
    tags: string | null;
    tags_at: number | null;
    created_at: number;
    modified_at: number;
    /** The component that manages the record, such as "email-routing". */
    managed_by: string | null;
    locked: number;
    /** JSON: shown in `meta` of the record. */
    meta: string | null;
  };
  /** Tags in lower case, for searching. */
  dns_record_tags: { zone_id: string; record_id: string; name: string; value: string };
  /** The number of records per type, so that listing does not require counting. */
  dns_record_counts: { zone_id: string; type: string; records: number };
}

export type ZonesExecutor = Kysely<ZoneTables>;
