import type { Kysely } from "kysely";
import { isUniqueViolation, type Db } from "../../store/index.ts";
import type { BucketRef, BucketSettings, CustomDomain, DomainBucket } from "./port.ts";
import type { BucketSettingsTables } from "./schema.ts";

type Row = BucketSettingsTables["r2_bucket_settings"];
type DomainRow = BucketSettingsTables["r2_domains"];

/** Maximum numbers of custom domains. */
export interface DomainLimits {
  perBucket: number;
  perAccount: number;
  perServer: number;
}

type AddDomainResult = "added" | "taken" | "bucket full" | "account full" | "server full";

export function createBucketSettingsTable(db: Db) {
  const tables = db.tables<BucketSettingsTables>();
  const find = (from: Kysely<BucketSettingsTables>, id: string) =>
    from.selectFrom("r2_bucket_settings").selectAll().where("bucket_id", "=", id).executeTakeFirst();

  return {
    async find(id: string): Promise<(BucketSettings & BucketRef) | undefined> {
      const row = await find(tables, id);
      return row && { ...settingsOf(row), ...bucketRefOf(row) };
    },

    /** Applies a change to the current settings. The `change` function may throw. */
    change: (ref: BucketRef, change: (settings: BucketSettings) => BucketSettings): Promise<BucketSettings> =>
      db.transaction<BucketSettingsTables, BucketSettings>(async (tx) => {
        const row = await find(tx, ref.id);
        const newSettings = change(row === undefined ? NO_SETTINGS : settingsOf(row));
        const columns = settingsColumns(newSettings);
        await tx
          .insertInto("r2_bucket_settings")
          .values({ bucket_id: ref.id, account_id: ref.account, name: ref.name, ...columns })
          .onConflict((conflict) => conflict.column("bucket_id").doUpdateSet(columns))
          .execute();
        return newSettings;
      }),

    async accountsWithLifecycle(after: string | undefined, limit: number): Promise<string[]> {
      const rows = await tables
        .selectFrom("r2_bucket_settings")
        .select("account_id")
        .distinct()
        .where("lifecycle", "is not", null)
        .$if(after !== undefined, (query) => query.where("account_id", ">", after!))
        .orderBy("account_id")
        .limit(limit)
        .execute();
      return rows.map(({ account_id }) => account_id);
    },

    async listWithLifecycle(account: string, from: string, limit: number): Promise<(BucketSettings & BucketRef)[]> {
      const rows = await tables
        .selectFrom("r2_bucket_settings")
        .selectAll()
        .where("account_id", "=", account)
        .where("lifecycle", "is not", null)
        .where("bucket_id", ">=", from)
        .orderBy("bucket_id")
        .limit(limit)
        .execute();
      return rows.map((row) => ({ ...settingsOf(row), ...bucketRefOf(row) }));
    },

    async removeBucket(id: string): Promise<void> {
      await db.write(tables.deleteFrom("r2_bucket_settings").where("bucket_id", "=", id));
      await db.write(tables.deleteFrom("r2_domains").where("bucket_id", "=", id));
    },

    /** Replaces a domain of another account. */
    async addDomain(domain: CustomDomain, limits: DomainLimits): Promise<AddDomainResult> {
      try {
        return await db.transaction<BucketSettingsTables, AddDomainResult>(async (tx) => {
          const all = tx.selectFrom("r2_domains").select((eb) => eb.fn.countAll<number>().as("count"));
          const count = async (query: typeof all) => Number((await query.executeTakeFirstOrThrow()).count);
          await tx
            .deleteFrom("r2_domains")
            .where("domain", "=", domain.domain)
            .where("account_id", "<>", domain.account)
            .execute();
          const existingRow = await tx
            .selectFrom("r2_domains")
            .select("domain")
            .where("domain", "=", domain.domain)
            .executeTakeFirst();
          if (existingRow !== undefined) return "taken";
          if ((await count(all.where("bucket_id", "=", domain.bucket))) >= limits.perBucket) return "bucket full";
          if ((await count(all.where("account_id", "=", domain.account))) >= limits.perAccount) return "account full";
          if ((await count(all)) >= limits.perServer) return "server full";
          await tx.insertInto("r2_domains").values(domainColumns(domain)).execute();
          return "added";
        });
      } catch (err) {
        if (isUniqueViolation(err)) return "taken";
        throw err;
      }
    },

    async updateDomain(domain: CustomDomain): Promise<void> {
      await db.write(tables.updateTable("r2_domains").set(domainColumns(domain)).where("domain", "=", domain.domain));
    },

    async removeDomain(bucketId: string, domain: string): Promise<boolean> {
      const result = await db.write(
        tables.deleteFrom("r2_domains").where("bucket_id", "=", bucketId).where("domain", "=", domain),
      );
      return result.affected === 1;
    },

    async removeZone(zone: string): Promise<void> {
      await db.write(tables.deleteFrom("r2_domains").where("zone_id", "=", zone));
    },

    async zonesOfDomains(after: string, limit: number): Promise<string[]> {
      const rows = await tables
        .selectFrom("r2_domains")
        .select("zone_id")
        .distinct()
        .where("zone_id", ">", after)
        .orderBy("zone_id")
        .limit(limit)
        .execute();
      return rows.map(({ zone_id }) => zone_id);
    },

    async listDomains(bucketId: string): Promise<CustomDomain[]> {
      const rows = await tables
        .selectFrom("r2_domains")
        .selectAll()
        .where("bucket_id", "=", bucketId)
        .orderBy("domain")
        .execute();
      return rows.map(domainOf);
    },

    async findDomain(domain: string): Promise<CustomDomain | undefined> {
      const row = await tables.selectFrom("r2_domains").selectAll().where("domain", "=", domain).executeTakeFirst();
      return row && domainOf(row);
    },

    /** Resolves with the enabled domains, in order. */
    async enabledDomains(limit: number): Promise<({ domain: string } & DomainBucket)[]> {
      const rows = await tables
        .selectFrom("r2_domains")
        .select(["domain", "bucket_id", "account_id"])
        .where("enabled", "=", 1)
        .orderBy("domain")
        .limit(limit)
        .execute();
      return rows.map(({ domain, bucket_id, account_id }) => ({ domain, id: bucket_id, account: account_id }));
    },
  };
}

export type BucketSettingsTable = ReturnType<typeof createBucketSettingsTable>;

const NO_SETTINGS: BucketSettings = { notifications: [], managedHostEnabled: false };

const bucketRefOf = ({ bucket_id, account_id, name }: Row): BucketRef => ({ id: bucket_id, account: account_id, name });

const settingsOf = ({ cors, lifecycle, notifications, managed }: Row): BucketSettings => ({
  ...(cors !== null && { cors: JSON.parse(cors) as BucketSettings["cors"] & object }),
  ...(lifecycle !== null && { lifecycle: JSON.parse(lifecycle) as BucketSettings["lifecycle"] & object }),
  notifications: JSON.parse(notifications) as BucketSettings["notifications"],
  managedHostEnabled: managed === 1,
});

const settingsColumns = ({ cors, lifecycle, notifications, managedHostEnabled }: BucketSettings) => ({
  cors: cors === undefined ? null : JSON.stringify(cors),
  lifecycle: lifecycle === undefined ? null : JSON.stringify(lifecycle),
  notifications: JSON.stringify(notifications),
  managed: managedHostEnabled ? 1 : 0,
});

const domainOf = (row: DomainRow): CustomDomain => ({
  domain: row.domain,
  bucket: row.bucket_id,
  account: row.account_id,
  zone: row.zone_id,
  enabled: row.enabled === 1,
  minTls: row.min_tls as CustomDomain["minTls"],
  ciphers: JSON.parse(row.ciphers) as string[],
});

const domainColumns = ({ domain, bucket, account, zone, enabled, minTls, ciphers }: CustomDomain): DomainRow => ({
  domain,
  bucket_id: bucket,
  account_id: account,
  zone_id: zone,
  enabled: enabled ? 1 : 0,
  min_tls: minTls,
  ciphers: JSON.stringify(ciphers),
});
