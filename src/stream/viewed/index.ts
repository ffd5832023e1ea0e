export { createUploadSegmentDuration, firstKnownDuration, type SegmentDuration } from "./segment-duration.ts";
export { PERIODS } from "./periods.ts";
export { viewedMigrations } from "./viewed-table.ts";
export { createViewedMinutes, type ViewedMinutes } from "./viewed.ts";
