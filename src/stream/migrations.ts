import type { Migration } from "../store/index.ts";
import { audioMigrations } from "./audio/tracks-table.ts";
import { streamCaptionsMigrations } from "./captions/captions-table.ts";
import { downloadsMigrations } from "./downloads/downloads-table.ts";
import { streamKeysMigrations } from "./keys/keys-table.ts";
import { broadcastMigrations } from "./live/broadcast/leases-table.ts";
import { liveInputsMigrations } from "./live/inputs/live-table.ts";
import { recordMigrations } from "./live/record/record-table.ts";
import { liveViewersMigrations } from "./live/viewers/viewers-table.ts";
import { uploadsMigrations } from "./uploads/uploads-table.ts";
import { videosMigrations } from "./videos/videos-table.ts";
import { viewedMigrations } from "./viewed/viewed-table.ts";
import { streamWatermarksMigrations } from "./watermarks/watermarks-table.ts";
import { webhooksMigrations } from "./webhooks/webhooks-table.ts";

export const streamMigrations: Migration[] = [
  ...videosMigrations,
  ...uploadsMigrations,
  ...streamKeysMigrations,
  ...streamWatermarksMigrations,
  ...streamCaptionsMigrations,
  ...audioMigrations,
  ...downloadsMigrations,
  ...webhooksMigrations,
  ...viewedMigrations,
  ...liveInputsMigrations,
  ...liveViewersMigrations,
  ...recordMigrations,
  ...broadcastMigrations,
];
