export { createMatroskaWriter, type MatroskaTrack, type MatroskaWriter } from "./writer.ts";
