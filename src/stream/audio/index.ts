export { type Audio, createAudio } from "./audio.ts";
export type { AudioSource, AudioSources } from "./port.ts";
export { audioMigrations } from "./tracks-table.ts";
