export * from "./errors.ts";
export { createAuthenticator, type AuthenticatorOptions } from "./authenticate/authenticate.ts";
export { DEFAULT_LOOKUP_LIMITS, type LookupLimits, type LookupType } from "./authenticate/resolver.ts";
export { createSigner } from "./authenticate/sign.ts";
export type { Verdict } from "./authenticate/verdict.ts";
export { type Receiver } from "./receive.ts";
export type { Handled } from "./actions/worker.ts";
export { type ForwardingOptions } from "./forwarding/forwarding.ts";
export type * from "./forwarding/types.ts";
export type * from "./retry/types.ts";
export type * from "./bounces/types.ts";
export { type SmtpLimits, type SmtpListenerOptions } from "./inbound/listener.ts";
export type { ServerLimits, SmtpListener } from "./inbound/server.ts";
export type * from "./inbound/types.ts";
export { type BlockListsOptions } from "./inbound/block-lists.ts";
export { type RspamdOptions } from "./inbound/rspamd.ts";
export { type SubmissionLimits, type SubmissionListenerOptions } from "./submission/listener.ts";
export type * from "./submission/types.ts";
export { readMessage, type Message } from "./messages/message.ts";
export { createSpool, type Spool, type SpoolOptions } from "./messages/spool.ts";
export type * from "./messages/types.ts";
export { type Captured } from "./outbound/capture.ts";
export { type SendEmailOptions, type SendLimits } from "./sending/send-email.ts";
export { createEmailRouting, type EmailRouting, type EmailRoutingOptions } from "./routing/create.ts";
export type { DnsProblem } from "./routing/examine.ts";
export { type NeededRecord, type RoutingHosts } from "./routing/needed.ts";
export type { RecordVerifier } from "./routing/parts.ts";
export type { PlannedChange, PlannedZone, PlanRequest } from "./routing/plan.ts";
export type { Rules } from "./routing/rules.ts";
export type * from "./routing/types.ts";
export type { Addresses } from "./addresses/addresses.ts";
export { createDkimKeys, type DkimKeys } from "./dkim-keys/dkim-keys.ts";
export { type PublishedSts } from "./mta-sts/published.ts";
export {
  createDmarcReporting,
  type DmarcReporting,
  type DmarcReports,
  type MailAuthRecords,
} from "./dmarc-reports/reports.ts";
export type { DmarcStatistics, StatisticsRequest } from "./dmarc-reports/dmarc-statistics.ts";
export type { TlsStatistics } from "./dmarc-reports/tls-statistics.ts";
export type { ReportIntake } from "./dmarc-reports/report-intake.ts";
export type { DmarcCounts, TlsCounts } from "./dmarc-reports/report-rows-table.ts";
export { inspectSpf, type SpfInspection, type SpfProblem, type SpfTerm, type SpfTree } from "./spf-inspect/inspect.ts";
export type * from "./dkim-keys/types.ts";
export { mailMigrations } from "./migrations.ts";
export { type DowngradeDeps } from "./downgrade/downgrade.ts";
export {
  createOutbound,
  DEFAULT_OUTBOUND_LIMITS,
  type OutboundOptions,
  type OutboundService,
} from "./outbound/outbound.ts";
export { outboundMigrations } from "./outbound/migrations.ts";
export { type SecureLookups } from "./outbound/policy/dane.ts";
export { createStsFetch } from "./outbound/policy/sts-fetch.ts";
export type { BodyPlace, RecipientState } from "./outbound/queue/migrations.ts";
export type { Queue, Queued, QueuedMessage, QueuedRecipient } from "./outbound/queue/queue.ts";
export type { FailedRecipient } from "./outbound/queue/settle.ts";
export { DEFAULT_TIMEOUTS, type SmtpTimeouts } from "./outbound/smtp/timeouts.ts";
export type { DaneFinding, DaneFor, PolicyFor, TlsLevel, TlsPolicy } from "./outbound/types.ts";
export { createActivity, type Activity, type ActivityLimits, type ActivityOptions } from "./activity/activity.ts";
export type { Count, CountColumn, CountFilter, CountOperator, CountQuery, RowsQuery } from "./activity/counts-table.ts";
export { activityMigrations } from "./activity/entries-table.ts";
export { activityErrors } from "./activity/errors.ts";
export type { OwnerOf } from "./activity/owners.ts";
export { sessionOf } from "./activity/place.ts";
export { createSentMessages, type SentMessages, type SentMessagesOptions } from "./activity/sent-messages.ts";
export {
  ENTRY_ACTIONS,
  ENTRY_STATUSES,
  type Delivery,
  type Entry,
  type EntryEvent,
  type EntryKind,
  type EntryPage,
  type EntryQuery,
  type EntryStatus,
} from "./activity/types.ts";
export { createSendingDomains, type SendingDomainsParts } from "./sending/domains.ts";
export { readDraft } from "./sending/draft.ts";
export { REST_FIELDS } from "./sending/field-names.ts";
export { sendingErrors } from "./sending/errors.ts";
export type { SendingHosts } from "./sending/records.ts";
export { createSending, type SendingLimits } from "./sending/sending.ts";
export { sendText } from "./sending/send-text.ts";
export type * from "./sending/types.ts";
export { suppressionErrors } from "./suppressions/errors.ts";
export { createSuppressions } from "./suppressions/suppressions.ts";
export {
  SUPPRESSION_REASONS,
  type BulkItem,
  type Suppression,
  type SuppressionRequest,
  type Suppressions,
} from "./suppressions/types.ts";
export { createMail, type Mail } from "./mail.ts";
export { createLocalMail } from "./local-mail.ts";
export type { DestinationAddress } from "./addresses/types.ts";
export { addressErrors } from "./addresses/errors.ts";
export { smtpName } from "./names.ts";
