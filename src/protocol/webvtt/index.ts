export { readCaptions } from "./read.ts";
export { formatVtt } from "./write-vtt.ts";
