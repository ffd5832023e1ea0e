export { downloadsMigrations } from "./downloads-table.ts";
export { createDownloads, type Downloads } from "./downloads.ts";
export { type Download, downloadName, type DownloadType } from "./types.ts";
