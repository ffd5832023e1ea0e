export { createMessageArchive } from "./archive.ts";
export { setUpArchive } from "./setup.ts";
export { readAttachment, readContent, type MessageAttachment, type MessageContent } from "./content.ts";
export type { ArchivedMail, MessageArchive } from "./port.ts";
