import { sql, type Kysely } from "kysely";
import type { Migration } from "../store/index.ts";

/** An id that ties the database to external storage. */
export interface StorageIdentityTables {
  server_marks: { name: string; value: string };
}

export const serverMigrations: Migration[] = [
  {
    name: "server-001",
    async up(db, types) {
      await db.schema
        .createTable("server_marks")
        .addColumn("name", sql.raw(types.keyText), (column) => column.primaryKey())
        .addColumn("value", "text", (column) => column.notNull())
        .execute();
    },
  },
];

/** Returns the stored id, or stores this one if there is none. Concurrent processes wait for this transaction. */
export async function claimIdentity(tx: Kysely<StorageIdentityTables>, name: string, value: string): Promise<string> {
  await tx
    .insertInto("server_marks")
    .values({ name, value })
    .onConflict((on) => on.doNothing())
    .execute();
  return (await tx.selectFrom("server_marks").select("value").where("name", "=", name).executeTakeFirstOrThrow()).value;
}

export async function replaceIdentity(tx: Kysely<StorageIdentityTables>, name: string, value: string): Promise<void> {
  await tx.updateTable("server_marks").set({ value }).where("name", "=", name).execute();
}
