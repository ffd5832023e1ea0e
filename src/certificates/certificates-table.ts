import type { Db } from "../store/index.ts";

interface CertificateTables {
  tls_certificates: {
    id: string;
    directory: string;
    /** JSON */
    names: string;
    /** PEM; null until the first certificate has been issued, like the next column. */
    chain: string | null;
    /** Encrypted under `tls/<id>`. */
    private_key: string | null;
    not_after: number | null;
    /** Time of the next attempt. */
    next_at: number;
    /** Number of consecutive failures, and the reason of the last one. */
    failures: number;
    error: string | null;
    /** Holder of the lease, and the time at which it expires. */
    lease: string | null;
    lease_until: number | null;
  };
  acme_accounts: {
    directory: string;
    /** Encrypted under `acme/<directory>`. */
    private_key: string;
  };
  acme_proofs: {
    token: string;
    key_authorization: string;
    expires_at: number;
  };
}

export type CertificateRow = CertificateTables["tls_certificates"];
type Issued = Pick<CertificateRow, "chain" | "private_key" | "not_after" | "next_at">;

export interface CertificatesTable {
  /** Inserts the missing rows. */
  ensureRows(rows: readonly Pick<CertificateRow, "id" | "directory" | "names" | "next_at">[]): Promise<void>;
  rows(ids: readonly string[]): Promise<CertificateRow[]>;
  /** Resolves with the names of each certificate of this directory that is valid at the given time. */
  issuedNames(directory: string, now: number): Promise<string[][]>;
  /** Certificates of this directory that are valid or awaited, by their next renewal; at most 1000. */
  all(
    directory: string,
    now: number,
  ): Promise<Pick<CertificateRow, "names" | "chain" | "not_after" | "next_at" | "error">[]>;
  /** Undefined if the certificate is not due or another process holds the lease. */
  claim(id: string, lease: string, now: number, until: number): Promise<CertificateRow | undefined>;
  /** False if the lease has been lost. */
  storeIssued(id: string, lease: string, issued: Issued): Promise<boolean>;
  storeFailure(
    id: string,
    lease: string,
    failed: Pick<CertificateRow, "next_at" | "failures" | "error">,
  ): Promise<boolean>;
  /** Removes unwanted rows that expired before the given time or were never issued. */
  forget(before: number): Promise<void>;
  /** Resolves with the encrypted key of the account: the first one stored by any process. */
  account(directory: string, fresh: string): Promise<string>;
}

export function createCertificatesTable(db: Db): CertificatesTable {
  const tables = db.tables<CertificateTables>();
  const free = { lease: null, lease_until: null };
  const settle = async (id: string, lease: string, change: Partial<CertificateRow>) =>
    (
      await db.write(
        tables
          .updateTable("tls_certificates")
          .set({ ...change, ...free })
          .where("id", "=", id)
          .where("lease", "=", lease),
      )
    ).affected === 1;

  return {
    async ensureRows(rows) {
      if (rows.length === 0) return;
      const empty = { ...free, chain: null, private_key: null, not_after: null, failures: 0, error: null };
      await db.write(
        tables
          .insertInto("tls_certificates")
          .values(rows.map((row) => ({ ...row, ...empty })))
          .onConflict((conflict) => conflict.column("id").doNothing()),
      );
    },
    rows: (ids) =>
      ids.length === 0
        ? Promise.resolve([])
        : db.read(tables.selectFrom("tls_certificates").selectAll().where("id", "in", ids)),
    async issuedNames(directory, now) {
      const rows = await db.read(
        tables
          .selectFrom("tls_certificates")
          .select("names")
          .where("directory", "=", directory)
          .where("chain", "is not", null)
          .where("not_after", ">", now),
      );
      return rows.map(({ names }) => JSON.parse(names) as string[]);
    },
    all: (directory, now) =>
      db.read(
        tables
          .selectFrom("tls_certificates")
          .select(["names", "chain", "not_after", "next_at", "error"])
          .where("directory", "=", directory)
          .where(({ or, eb }) => or([eb("not_after", "is", null), eb("not_after", ">", now)]))
          .orderBy("next_at")
          .limit(1000),
      ),
    async claim(id, lease, now, until) {
      const claimed = tables
        .updateTable("tls_certificates")
        .set({ lease, lease_until: until })
        .where("id", "=", id)
        .where("next_at", "<=", now)
        .where(({ or, eb }) => or([eb("lease_until", "is", null), eb("lease_until", "<", now)]))
        .returningAll();
      return (await db.write(claimed)).rows[0];
    },
    storeIssued: (id, lease, issued) => settle(id, lease, { ...issued, failures: 0, error: null }),
    storeFailure: (id, lease, failed) => settle(id, lease, failed),
    forget: async (before) =>
      void (await db.write(
        tables
          .deleteFrom("tls_certificates")
          .where("next_at", "<", before)
          .where(({ or, eb }) => or([eb("not_after", "is", null), eb("not_after", "<", before)])),
      )),
    async account(directory, fresh) {
      await db.write(
        tables
          .insertInto("acme_accounts")
          .values({ directory, private_key: fresh })
          .onConflict((conflict) => conflict.column("directory").doNothing()),
      );
      return (
        await tables
          .selectFrom("acme_accounts")
          .select("private_key")
          .where("directory", "=", directory)
          .executeTakeFirstOrThrow()
      ).private_key;
    },
  };
}

interface ProofsTable {
  add(token: string, keyAuthorization: string, expiresAt: number): Promise<void>;
  find(token: string, now: number): Promise<string | undefined>;
  remove(token: string, now: number): Promise<void>;
}

export function createChallengeResponsesTable(db: Db): ProofsTable {
  const tables = db.tables<CertificateTables>();
  return {
    async add(token, keyAuthorization, expiresAt) {
      const row = { key_authorization: keyAuthorization, expires_at: expiresAt };
      await db.write(
        tables
          .insertInto("acme_proofs")
          .values({ token, ...row })
          .onConflict((conflict) => conflict.column("token").doUpdateSet(row)),
      );
    },
    find: async (token, now) =>
      (
        await db.read(
          tables
            .selectFrom("acme_proofs")
            .select("key_authorization")
            .where("token", "=", token)
            .where("expires_at", ">", now),
        )
      )[0]?.key_authorization,
    // Also removes entries that killed processes left behind.
    remove: async (token, now) =>
      void (await db.write(
        tables
          .deleteFrom("acme_proofs")
          .where(({ or, eb }) => or([eb("token", "=", token), eb("expires_at", "<=", now)])),
      )),
  };
}
