import { accountsMigrations } from "../accounts/index.ts";
import { certificatesMigrations } from "../certificates/index.ts";
import { clusterMigrations } from "../cluster/index.ts";
import { mailMigrations } from "../mail/index.ts";
import { streamMigrations } from "../stream/index.ts";
import { storeMigrations, type Migration } from "../store/index.ts";
import { workersMigrations } from "../workers/index.ts";
import { zonesMigrations } from "../zones/index.ts";
import { serverMigrations } from "./storage-identity-table.ts";

/**
 * The complete schema in order of creation. `dev` and `serve` share the list: each can open a database of the other.
 */
export const migrations: readonly Migration[] = [
  ...storeMigrations,
  ...accountsMigrations,
  ...certificatesMigrations,
  ...workersMigrations,
  ...zonesMigrations,
  ...mailMigrations,
  ...streamMigrations,
  ...serverMigrations,
  ...clusterMigrations,
];
