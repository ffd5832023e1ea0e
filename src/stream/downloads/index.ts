export { downloadsMigrations } from "./downloads-table.ts";
export { createDownloads, type Downloads } from "./downloads.ts";
export { type Download, DOWNLOAD_FILE_NAMES, type DownloadType } from "./types.ts";
