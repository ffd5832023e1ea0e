export { createMessageArchive } from "./archive.ts";
export { setUpArchive } from "./setup.ts";
export { readMessageContent, type MessageContent } from "./content.ts";
export type { ArchivedMail, MessageArchive } from "./port.ts";
