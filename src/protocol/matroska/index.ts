export { createMatroskaWriter, type MatroskaTrack } from "./writer.ts";
