import type { Migration } from "../../store/index.ts";
import { stsMigration } from "./policy/sts-table.ts";
import { queueMigrations } from "./queue/migrations.ts";
import { pausesMigration } from "./queue/pauses-table.ts";

export const outboundMigrations: Migration[] = [...queueMigrations, stsMigration, pausesMigration];
