export { MAX_WATERMARK_BYTES, type WatermarkRequest, type Watermarks } from "./port.ts";
export { streamWatermarksMigrations } from "./watermarks-table.ts";
export { createWatermarks } from "./watermarks.ts";
