export { type Audio, createAudio } from "./audio.ts";
export { audioMigrations } from "./tracks-table.ts";
