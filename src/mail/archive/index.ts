export { createMessageArchive } from "./archive.ts";
export { setUpArchive } from "./setup.ts";
export { readMessageContent, type MessageContent } from "./content.ts";
export type { MessageArchive } from "./port.ts";
