export { messageIds, readMessage, type ParsedMessage } from "./message.ts";
export { changeHeader, formatField, prepend, rewriteHeader, withFields, withHeader } from "./rewrite.ts";
export { MAX_MESSAGE_BYTES, createSpool, type Spool } from "./spool.ts";
export { closeStream } from "./streams.ts";
export { traceTo } from "./trace.ts";
export type {
  DsnEvent,
  DsnRequest,
  Envelope,
  MailSource,
  Outbound,
  MailRoute,
  DeliveryResult,
  Trace,
  TraceEvent,
  Transport,
} from "./types.ts";
export type { SmtpReply } from "../smtp-reply.ts";
