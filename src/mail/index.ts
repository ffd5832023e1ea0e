export type { HandlingResult } from "./actions/index.ts";
export {
  ENTRY_ACTIONS,
  ENTRY_STATUSES,
  activityErrors,
  explainAuthentication,
  relatedEntries,
  sessionOf,
  type Activity,
  type CountColumn,
  type CountFilter,
  type Entry,
  type EntryKind,
  type EntryQuery,
  type SentMessages,
} from "./activity/index.ts";
export { readMessageContent, type MessageContent } from "./archive/index.ts";
export type { MessageContents } from "./contents.ts";
export { addressErrors, type Addresses, type DestinationAddress } from "./addresses/index.ts";
export type { DkimKey } from "./dkim-keys/index.ts";
export type {
  DmarcCounts,
  DmarcReporting,
  DmarcReports,
  DmarcStatistics,
  MailAuthRecords,
  StatisticsRequest,
  TlsCounts,
  TlsStatistics,
} from "./dmarc-reports/index.ts";
export { mailErrors, mebibytes } from "./errors.ts";
export {
  INBOX_KINDS,
  INBOX_STATUSES,
  checkLinks,
  messageHtmlPage,
  htmlPolicy,
  linksOf,
  openInbox,
  parseInboxSearch,
  type Inbox,
  type InboxActions,
  type InboxMessage,
} from "./inbox/index.ts";
export { createLocalMail, type LocalMail } from "./local-mail.ts";
export { createMail, type Mail } from "./mail.ts";
export {
  readMessage,
  type DeliveryResult,
  type MailSource,
  type ParsedMessage,
  type Outbound,
  type SmtpReply,
  type Spool,
  type Transport,
} from "./messages/index.ts";
export { mailMigrations } from "./migrations.ts";
export { smtpName } from "./names.ts";
export {
  createStsFetch,
  type WrittenMail,
  type OutboundService,
  type QueuedMessage,
  type QueuedRecipient,
} from "./outbound/index.ts";
export type { Receiver } from "./receive.ts";
export {
  ROUTING_CHANGED,
  type RuleAction,
  type EmailRouting,
  type Matcher,
  type NeededRecord,
  type PlannedChange,
  type Resolution,
  type RoutingSettings,
  type Rule,
  type RuleRequest,
} from "./routing/index.ts";
export {
  REST_FIELDS,
  readDraft,
  sendTextMessage,
  sendingErrors,
  type SendResult,
  type Sending,
  type SendingDnsStatus,
  type SendingDomain,
  type SendingDomains,
  type SendingPreview,
  type SendingUsage,
  type SendingZone,
} from "./sending/index.ts";
export { inspectSpf, type SpfInspection, type SpfTree } from "./spf-inspect/index.ts";
export {
  SUPPRESSION_REASONS,
  suppressionErrors,
  type BulkItemResult,
  type Suppression,
  type SuppressionRequest,
  type Suppressions,
} from "./suppressions/index.ts";
