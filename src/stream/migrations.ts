import type { Migration } from "../store/index.ts";
import { liveMigrations } from "./live/index.ts";
import { audienceMigrations } from "./audience/index.ts";
import { audioMigrations } from "./audio/index.ts";
import { streamCaptionsMigrations } from "./captions/index.ts";
import { streamChaptersMigrations } from "./chapters/index.ts";
import { downloadsMigrations } from "./downloads/index.ts";
import { streamKeysMigrations } from "./keys/index.ts";
import { chunksMigrations } from "./processing/index.ts";
import { uploadsMigrations } from "./uploads/index.ts";
import { videosMigrations } from "./videos/index.ts";
import { viewedMigrations } from "./viewed/index.ts";
import { streamWatermarksMigrations } from "./watermarks/index.ts";
import { webhooksMigrations } from "./webhooks/index.ts";

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
  ...liveMigrations,
  ...audienceMigrations,
  ...streamChaptersMigrations,
  ...chunksMigrations,
];
