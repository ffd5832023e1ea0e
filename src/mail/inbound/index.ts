export { createBlockLists } from "./block-lists.ts";
export { combineReplies } from "./combine-replies.ts";
export {
  DEFAULT_SERVER_LIMITS,
  DEFAULT_SMTP_LIMITS,
  createSmtpListener,
  type SmtpListenerOptions,
} from "./listener.ts";
export { meterSmtp } from "./metrics.ts";
export { createRate } from "./rate.ts";
export { createRspamd } from "./rspamd.ts";
export { startSmtpServer, type ServerLimits, type SmtpListener } from "./server.ts";
export { createReception, withLoggedErrors, type SmtpClient } from "./session.ts";
export type { OnRejected, OnTranscript } from "./types.ts";
