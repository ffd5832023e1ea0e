import { sql } from "kysely";
import { type StsPolicy } from "../../../protocol/mtasts/index.ts";
import type { Db, Migration } from "../../../store/index.ts";

interface StsTables {
  outbound_sts: {
    domain: string;
    /** The id in the TXT record for which the policy was fetched. */
    policy_id: string;
    /** JSON. */
    policy: string;
    fetched_at: number;
    expires_at: number;
  };
}

export const stsMigration: Migration = {
  name: "mail-outbound-sts-001",
  async up(db, types) {
    await db.schema
      .createTable("outbound_sts")
      .addColumn("domain", sql.raw(types.keyText), (column) => column.primaryKey())
      .addColumn("policy_id", "text", (column) => column.notNull())
      .addColumn("policy", "text", (column) => column.notNull())
      .addColumn("fetched_at", "bigint", (column) => column.notNull())
      .addColumn("expires_at", "bigint", (column) => column.notNull())
      .execute();
    await db.schema.createIndex("outbound_sts_expiry").on("outbound_sts").column("expires_at").execute();
  },
};

/** A stored MTA-STS policy, as fetched. */
export interface StoredPolicy {
  id: string;
  policy: StsPolicy;
  fetchedAt: number;
  expiresAt: number;
}

export type StsTable = ReturnType<typeof createStsTable>;

/** Policies are stored persistently: protection depends on what was known before an attack (RFC 8461 10.2). */
export function createStsTable(db: Db) {
  const tables = db.tables<StsTables>();
  return {
    async get(domain: string, now: number): Promise<StoredPolicy | undefined> {
      const [row] = await db.read(
        tables.selectFrom("outbound_sts").selectAll().where("domain", "=", domain).where("expires_at", ">", now),
      );
      return (
        row && {
          id: row.policy_id,
          policy: JSON.parse(row.policy) as StsPolicy,
          fetchedAt: row.fetched_at,
          expiresAt: row.expires_at,
        }
      );
    },
    async put(domain: string, { id, policy, fetchedAt, expiresAt }: StoredPolicy): Promise<void> {
      const row = { policy_id: id, policy: JSON.stringify(policy), fetched_at: fetchedAt, expires_at: expiresAt };
      await db.write(
        tables
          .insertInto("outbound_sts")
          .values({ domain, ...row })
          .onConflict((on) => on.column("domain").doUpdateSet(row)),
      );
    },
    async forgetExpired(now: number): Promise<void> {
      const old = tables.selectFrom("outbound_sts").select("domain").where("expires_at", "<=", now).limit(1000);
      await db.write(tables.deleteFrom("outbound_sts").where("domain", "in", old).where("expires_at", "<=", now));
    },
  };
}
