import { isUniqueViolation, prepareQuery, rowCount, type Db } from "../../../store/index.ts";
import { readPage, type Page, type PageRequest } from "../../../kernel/index.ts";
import { INPUT_COUNTS, type InputRow, type LiveInputTables } from "./live-table.ts";

export type InputsTable = ReturnType<typeof createInputsTable>;

const IDEMPOTENCY_WINDOW_MS = 6 * 3_600_000;
/** Number of expired rows to delete with each insert; the remaining ones are deleted with later inserts. */
const EXPIRED_BATCH = 100;

export function createInputsTable(db: Db) {
  const tables = db.tables<LiveInputTables>();
  const byUid = prepareQuery((arg) =>
    tables.selectFrom("stream_live_inputs").selectAll().where("uid", "=", arg<string>("uid")),
  );
  const byPublish = prepareQuery((arg) =>
    tables.selectFrom("stream_live_inputs").select("uid").where("publish_hash", "=", arg<string>("hash")),
  );
  const byPlayback = prepareQuery((arg) =>
    tables.selectFrom("stream_live_inputs").select("uid").where("playback_hash", "=", arg<string>("hash")),
  );

  return {
    find: async (uid: string): Promise<InputRow | undefined> => (await db.read(byUid({ uid })))[0],
    uidByKey: async (kind: "publish" | "playback", hash: string): Promise<string | undefined> =>
      (await db.read((kind === "publish" ? byPublish : byPlayback)({ hash })))[0]?.uid,

    async list(account: string, page: PageRequest): Promise<Page<InputRow>> {
      const total = await rowCount(tables, INPUT_COUNTS, account);
      const items = await readPage(page, total, ({ offset, limit, reversed }) =>
        tables
          .selectFrom("stream_live_inputs")
          .selectAll()
          .where("account_id", "=", account)
          .orderBy("created_at", reversed ? "asc" : "desc")
          .orderBy("uid", reversed ? "asc" : "desc")
          .limit(limit)
          .offset(offset)
          .execute(),
      );
      return { items, total };
    },

    /**
     * Inserts the row and returns it. If an input was created with the same key within the last six hours, returns the
     * row of that input instead, or "gone" if it has been deleted.
     */
    async insert(row: InputRow, keyHash?: string): Promise<InputRow | "gone"> {
      if (keyHash === undefined) {
        await db.write(tables.insertInto("stream_live_inputs").values(row));
        return row;
      }
      try {
        return await insertOnce(row, keyHash);
      } catch (err) {
        // A concurrent insert with the same key has succeeded.
        if (!isUniqueViolation(err)) throw err;
        return insertOnce(row, keyHash);
      }
    },

    update: (
      account: string,
      uid: string,
      alter: (row: InputRow) => Partial<InputRow>,
    ): Promise<InputRow | undefined> =>
      db.transaction<LiveInputTables, InputRow | undefined>(async (tx) => {
        const row = await tx
          .selectFrom("stream_live_inputs")
          .selectAll()
          .where("uid", "=", uid)
          .where("account_id", "=", account)
          .executeTakeFirst();
        if (row === undefined) return undefined;
        const changedFields = alter(row);
        await tx.updateTable("stream_live_inputs").set(changedFields).where("uid", "=", uid).execute();
        return { ...row, ...changedFields };
      }),

    /** Deletes it with all dependent rows, except the idempotency record. */
    delete: (account: string, uid: string): Promise<boolean> =>
      db.transaction<LiveInputTables, boolean>(async (tx) => {
        const deletedRow = await tx
          .deleteFrom("stream_live_inputs")
          .where("uid", "=", uid)
          .where("account_id", "=", account)
          .returning("uid")
          .execute();
        if (deletedRow.length === 0) return false;
        await tx.deleteFrom("stream_live_outputs").where("input_uid", "=", uid).execute();
        await tx.deleteFrom("stream_live_history").where("input_uid", "=", uid).execute();
        return true;
      }),
  };

  function insertOnce(row: InputRow, keyHash: string): Promise<InputRow | "gone"> {
    const { account_id, uid: input_uid, created_at } = row;
    return db.transaction<LiveInputTables, InputRow | "gone">(async (tx) => {
      const old = await tx
        .selectFrom("stream_live_idempotency")
        .select(["account_id", "key_hash"])
        .where("created_at", "<=", created_at - IDEMPOTENCY_WINDOW_MS)
        .orderBy("created_at")
        .limit(EXPIRED_BATCH)
        .execute();
      for (const { account_id: account, key_hash } of old)
        await tx
          .deleteFrom("stream_live_idempotency")
          .where("account_id", "=", account)
          .where("key_hash", "=", key_hash)
          .execute();
      const keyQuery = tx
        .selectFrom("stream_live_idempotency")
        .selectAll()
        .where("account_id", "=", account_id)
        .where("key_hash", "=", keyHash);
      const before = await keyQuery.executeTakeFirst();
      if (before !== undefined && before.created_at > created_at - IDEMPOTENCY_WINDOW_MS) {
        return (
          (await tx
            .selectFrom("stream_live_inputs")
            .selectAll()
            .where("uid", "=", before.input_uid)
            .executeTakeFirst()) ?? "gone"
        );
      }
      await tx
        .deleteFrom("stream_live_idempotency")
        .where("account_id", "=", account_id)
        .where("key_hash", "=", keyHash)
        .execute();
      await tx.insertInto("stream_live_inputs").values(row).execute();
      await tx
        .insertInto("stream_live_idempotency")
        .values({ account_id, key_hash: keyHash, input_uid, created_at })
        .execute();
      return row;
    });
  }
}
