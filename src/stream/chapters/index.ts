export { streamChaptersMigrations } from "./chapters-table.ts";
export { CHAPTERS_CHANGED, createChapters } from "./chapters.ts";
export { chapterRoutes } from "./delivery.ts";
export type { Chapter, Chapters } from "./port.ts";
