import type { RecordType } from "../../protocol/dns/index.ts";
import type { ZonesExecutor } from "../tables.ts";
import { recordDigest } from "./check.ts";
import { RECORD_COLUMNS, toRecord } from "./records-table.ts";
import type { DnsRecord, RecordDraft, RecordZone } from "./types.ts";

/** Resolves with the records of one component, by name. */
export async function listOwnedRecords(db: ZonesExecutor, zone: string, owner: string): Promise<DnsRecord[]> {
  return (
    await db
      .selectFrom("dns_records")
      .select(RECORD_COLUMNS)
      .where("zone_id", "=", zone)
      .where("managed_by", "=", owner)
      .orderBy("name")
      .orderBy("type")
      .orderBy("id")
      .execute()
  ).map(toRecord);
}

/** Resolves with the stored record with the same meaning. */
export async function findSameRecord(
  db: ZonesExecutor,
  zone: RecordZone,
  draft: RecordDraft,
): Promise<DnsRecord | undefined> {
  const row = await db
    .selectFrom("dns_records")
    .select(RECORD_COLUMNS)
    .where("zone_id", "=", zone.id)
    .where("name", "=", draft.name)
    .where("type", "=", draft.type)
    .where("digest", "=", recordDigest(draft))
    .executeTakeFirst();
  return row && toRecord(row);
}

export async function recordsAt(
  db: ZonesExecutor,
  zone: string,
  name: string,
  types?: readonly string[],
  limit = 1000,
): Promise<DnsRecord[]> {
  const query = db
    .selectFrom("dns_records")
    .select(RECORD_COLUMNS)
    .where("zone_id", "=", zone)
    .where("name", "=", name)
    .orderBy("type")
    .orderBy("digest")
    .limit(limit);
  return (await (types === undefined ? query : query.where("type", "in", types)).execute()).map(toRecord);
}

/** Record types; `allTypesBut` means all others. */
export type TypeFilter = { types: RecordType[] } | { allTypesBut: RecordType[] };

/** Returns the records that share a draft's name, except the record `self`. */
export function recordsAtSameName(db: ZonesExecutor, zone: RecordZone, draft: RecordDraft, self?: string) {
  const existingRows = db
    .selectFrom("dns_records")
    .select(["id", "type"])
    .where("zone_id", "=", zone.id)
    .where("name", "=", draft.name);
  const others = self === undefined ? existingRows : existingRows.where("id", "<>", self);
  return {
    /** True if one of them has the same meaning. */
    identical: async () =>
      (await others
        .where("type", "=", draft.type)
        .where("digest", "=", recordDigest(draft))
        .limit(1)
        .executeTakeFirst()) !== undefined,
    /** Resolves with the first type among them that matches the filter. */
    async typeAmong(filter: TypeFilter): Promise<RecordType | undefined> {
      const query =
        "types" in filter
          ? others.where("type", "in", filter.types)
          : filter.allTypesBut.length === 0
            ? others
            : others.where("type", "not in", filter.allTypesBut);
      return (await query.orderBy("type").limit(1).executeTakeFirst())?.type as RecordType | undefined;
    },
  };
}
