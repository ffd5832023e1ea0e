export { createFileTransport, type WrittenMail } from "./file-transport.ts";
export { outboundMigrations } from "./migrations.ts";
export { createOutbound, type OutboundOptions, type OutboundService } from "./outbound.ts";
export { createStsFetch } from "./policy/sts-fetch.ts";
export { DEFAULT_BACKOFF_MS, DEFAULT_LIFETIME_MS, createBackoff } from "./queue/backoff.ts";
export { createBodies } from "./queue/bodies.ts";
export type { MessageRow, OutboundTables, RecipientRow } from "./queue/migrations.ts";
export {
  replyOfRow,
  toQueuedMessage,
  type OutboundQueue,
  type QueuedMessage,
  type QueuedRecipient,
} from "./queue/queue.ts";
export type { FailedRecipient, DeliveryFailure } from "./queue/result-recorder.ts";
export { createSmtpRelease, type ReleaseResult } from "./release.ts";
export { setUpFileTransport, setUpOutbound, type OutboundSetup } from "./setup.ts";
export { createDeliveryAgent } from "./smtp/delivery-agent.ts";
export { DEFAULT_TIMEOUTS } from "./smtp/timeouts.ts";
export { createSpareFiles } from "./spare-files.ts";
export type {
  ReplayableBody,
  DeliveryAttempt,
  Downgrade,
  MailResolver,
  ReportedPolicy,
  TlsFailure,
  TlsResult,
  TlsResults,
} from "./types.ts";
export { writeFileAtomically } from "./whole-file.ts";
