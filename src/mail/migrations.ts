import type { Migration } from "../store/index.ts";
import { addressesMigration } from "./addresses/addresses-table.ts";
import { dkimMigration, dkimStateMigration } from "./dkim-keys/keys-table.ts";
import { routingMigration } from "./routing/tables.ts";

export const mailMigrations: Migration[] = [dkimMigration, routingMigration, addressesMigration, dkimStateMigration];
