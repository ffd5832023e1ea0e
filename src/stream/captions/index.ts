export { streamCaptionsMigrations } from "./captions-table.ts";
export { CAPTIONS_CHANGED, createCaptions } from "./captions.ts";
export { languageLabel } from "./language.ts";
export type { Captions } from "./port.ts";
