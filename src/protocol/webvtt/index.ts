export { formatVtt } from "./format.ts";
export { readCaptions } from "./read.ts";
export { MAX_CUES, type Captions, type CaptionsReading, type Cue } from "./types.ts";
