export { createDataWriter } from "./data-writer.ts";
export { receivedField } from "./received.ts";
export { formatReply, type Reply } from "./reply.ts";
export type { SaslCredentials } from "./sasl.ts";
export { createServerSession } from "./server-session.ts";
export type { SmtpServerEvent, ServerExtensions, ServerSession, SmtpSessionLimits } from "./server-session-types.ts";
export { createReplyReader } from "./reply-reader.ts";
