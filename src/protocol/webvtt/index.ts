export { formatVtt } from "./format.ts";
export { readCaptions } from "./read.ts";
