export { createUploadSegmentLength, firstLength, type SegmentLength } from "./length.ts";
export { PERIODS } from "./periods.ts";
export { viewedMigrations } from "./viewed-table.ts";
export { createViewedMinutes, type ViewedMinutes } from "./viewed.ts";
