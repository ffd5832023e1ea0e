import type { Migration } from "../../store/index.ts";
import { broadcastMigrations } from "./broadcast/leases-table.ts";
import { liveInputsMigrations } from "./inputs/live-table.ts";
import { recordMigrations } from "./record/record-table.ts";
import { liveViewersMigrations } from "./viewers/viewers-table.ts";

export const liveMigrations: readonly Migration[] = [
  ...liveInputsMigrations,
  ...liveViewersMigrations,
  ...recordMigrations,
  ...broadcastMigrations,
];
