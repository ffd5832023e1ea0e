export { escapeCueText, plainText } from "./plain-text.ts";
export { readCaptions } from "./read.ts";
export { formatVtt } from "./write-vtt.ts";
