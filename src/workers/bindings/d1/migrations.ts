import type { Migration } from "../../../store/index.ts";
import { databaseListMigration } from "./list-table.ts";
import { transfersMigration } from "./transfers/transfers-table.ts";

export const d1Migrations: Migration[] = [databaseListMigration, transfersMigration];
