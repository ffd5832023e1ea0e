import type { Migration } from "../../store/index.ts";
import { stsMigration } from "./policy/sts-table.ts";
import { outboundQueueMigrations } from "./queue/migrations.ts";
import { pausesMigration } from "./queue/pauses-table.ts";

export const outboundMigrations: Migration[] = [...outboundQueueMigrations, stsMigration, pausesMigration];
