import type { Command } from "./command.ts";
import { createCompletion } from "./commands/completion.ts";
import { d1Create } from "./commands/d1/create.ts";
import { d1Delete } from "./commands/d1/delete.ts";
import { d1Execute } from "./commands/d1/execute.ts";
import { d1Export } from "./commands/d1/export.ts";
import { d1Info } from "./commands/d1/info.ts";
import { d1List } from "./commands/d1/list.ts";
import { d1MigrationsApply } from "./commands/d1/migrations-apply.ts";
import { d1MigrationsCreate } from "./commands/d1/migrations-create.ts";
import { d1MigrationsList } from "./commands/d1/migrations-list.ts";
import { deleteWorker } from "./commands/delete.ts";
import { deploy } from "./commands/deploy.ts";
import { deploymentsList } from "./commands/deployments/list.ts";
import { deploymentsStatus } from "./commands/deployments/status.ts";
import { dev } from "./commands/dev.ts";
import { doctor } from "./commands/doctor.ts";
import { emailLog } from "./commands/email/log.ts";
import { emailDmarcReport } from "./commands/email/dmarc-report.ts";
import { emailLogGet } from "./commands/email/log-get.ts";
import { emailQueueCancel } from "./commands/email/queue-cancel.ts";
import { emailQueueGet } from "./commands/email/queue-get.ts";
import { emailQueueList } from "./commands/email/queue-list.ts";
import { emailQueueResend } from "./commands/email/queue-resend.ts";
import { emailRoutingAddressesCreate } from "./commands/email/routing-addresses-create.ts";
import { emailRoutingAddressesDelete } from "./commands/email/routing-addresses-delete.ts";
import { emailRoutingAddressesGet } from "./commands/email/routing-addresses-get.ts";
import { emailRoutingAddressesList } from "./commands/email/routing-addresses-list.ts";
import { emailRoutingDisable } from "./commands/email/routing-disable.ts";
import { emailRoutingDkimList } from "./commands/email/routing-dkim-list.ts";
import { emailRoutingDkimRotate } from "./commands/email/routing-dkim-rotate.ts";
import { emailRoutingDnsGet } from "./commands/email/routing-dns-get.ts";
import { emailRoutingDnsUnlock } from "./commands/email/routing-dns-unlock.ts";
import { emailRoutingEnable } from "./commands/email/routing-enable.ts";
import { emailRoutingList } from "./commands/email/routing-list.ts";
import { emailRoutingRulesCreate } from "./commands/email/routing-rules-create.ts";
import { emailRoutingRulesDelete } from "./commands/email/routing-rules-delete.ts";
import { emailRoutingRulesGet } from "./commands/email/routing-rules-get.ts";
import { emailRoutingRulesList } from "./commands/email/routing-rules-list.ts";
import { emailRoutingRulesUpdate } from "./commands/email/routing-rules-update.ts";
import { emailRoutingSettings } from "./commands/email/routing-settings.ts";
import { emailSendingDisable } from "./commands/email/sending-disable.ts";
import { emailSendingDnsGet } from "./commands/email/sending-dns-get.ts";
import { emailSendingEnable } from "./commands/email/sending-enable.ts";
import { emailSendingList } from "./commands/email/sending-list.ts";
import { emailSendingSend } from "./commands/email/sending-send.ts";
import { emailSendingSendRaw } from "./commands/email/sending-send-raw.ts";
import { emailSendingSettings } from "./commands/email/sending-settings.ts";
import { emailSendingSuppressionsCreate } from "./commands/email/sending-suppressions-create.ts";
import { emailSendingSuppressionsDelete } from "./commands/email/sending-suppressions-delete.ts";
import { emailSendingSuppressionsList } from "./commands/email/sending-suppressions-list.ts";
import { emailTlsReport } from "./commands/email/tls-report.ts";
import { init } from "./commands/init.ts";
import { kvBulkDelete } from "./commands/kv/bulk-delete.ts";
import { kvBulkPut } from "./commands/kv/bulk-put.ts";
import { kvKeyDelete } from "./commands/kv/key-delete.ts";
import { kvKeyGet } from "./commands/kv/key-get.ts";
import { kvKeyList } from "./commands/kv/key-list.ts";
import { kvKeyPut } from "./commands/kv/key-put.ts";
import { kvNamespaceCreate } from "./commands/kv/namespace-create.ts";
import { kvNamespaceDelete } from "./commands/kv/namespace-delete.ts";
import { kvNamespaceList } from "./commands/kv/namespace-list.ts";
import { liveCreate } from "./commands/live/create.ts";
import { liveDelete } from "./commands/live/delete.ts";
import { liveDisable } from "./commands/live/disable.ts";
import { liveEnable } from "./commands/live/enable.ts";
import { liveHistory } from "./commands/live/history.ts";
import { liveList } from "./commands/live/list.ts";
import { liveOutputsCreate } from "./commands/live/outputs-create.ts";
import { liveOutputsDelete } from "./commands/live/outputs-delete.ts";
import { liveOutputsDisable } from "./commands/live/outputs-disable.ts";
import { liveOutputsEnable } from "./commands/live/outputs-enable.ts";
import { liveOutputsList } from "./commands/live/outputs-list.ts";
import { liveRotateKeys } from "./commands/live/rotate-keys.ts";
import { liveShow } from "./commands/live/show.ts";
import { liveStatus } from "./commands/live/status.ts";
import { liveUpdate } from "./commands/live/update.ts";
import { liveVideos } from "./commands/live/videos.ts";
import { liveWebhooksCreate } from "./commands/live/webhooks-create.ts";
import { liveWebhooksDelete } from "./commands/live/webhooks-delete.ts";
import { liveWebhooksList } from "./commands/live/webhooks-list.ts";
import { login } from "./commands/login.ts";
import { logout } from "./commands/logout.ts";
import { r2BucketCreate } from "./commands/r2/bucket-create.ts";
import { r2BucketDelete } from "./commands/r2/bucket-delete.ts";
import { r2BucketList } from "./commands/r2/bucket-list.ts";
import { r2ObjectDelete } from "./commands/r2/object-delete.ts";
import { r2ObjectGet } from "./commands/r2/object-get.ts";
import { r2ObjectPut } from "./commands/r2/object-put.ts";
import { rollback } from "./commands/rollback.ts";
import { secretBulk } from "./commands/secret/bulk.ts";
import { secretDelete } from "./commands/secret/delete.ts";
import { secretList } from "./commands/secret/list.ts";
import { secretPut } from "./commands/secret/put.ts";
import { serve } from "./commands/serve.ts";
import { streamCaptionsDelete } from "./commands/stream/captions-delete.ts";
import { streamCaptionsList } from "./commands/stream/captions-list.ts";
import { streamCaptionsUpload } from "./commands/stream/captions-upload.ts";
import { streamCopy } from "./commands/stream/copy.ts";
import { streamDelete } from "./commands/stream/delete.ts";
import { streamDownload } from "./commands/stream/download.ts";
import { streamGet } from "./commands/stream/get.ts";
import { streamKeysCreate } from "./commands/stream/keys-create.ts";
import { streamKeysDelete } from "./commands/stream/keys-delete.ts";
import { streamKeysList } from "./commands/stream/keys-list.ts";
import { streamList } from "./commands/stream/list.ts";
import { streamToken } from "./commands/stream/token.ts";
import { streamUpload } from "./commands/stream/upload.ts";
import { streamUsage } from "./commands/stream/usage.ts";
import { streamWebhookDelete } from "./commands/stream/webhook-delete.ts";
import { streamWebhookDeliveries } from "./commands/stream/webhook-deliveries.ts";
import { streamWebhookGet } from "./commands/stream/webhook-get.ts";
import { streamWebhookReplay } from "./commands/stream/webhook-replay.ts";
import { streamWebhookSet } from "./commands/stream/webhook-set.ts";
import { tail } from "./commands/tail.ts";
import { tokenCreate } from "./commands/token/create.ts";
import { tokenList } from "./commands/token/list.ts";
import { tokenRevoke } from "./commands/token/revoke.ts";
import { types } from "./commands/types.ts";
import { versionsList } from "./commands/versions/list.ts";
import { versionsUpload } from "./commands/versions/upload.ts";
import { versionsView } from "./commands/versions/view.ts";
import { whoami } from "./commands/whoami.ts";
import { zoneCreate } from "./commands/zone/create.ts";
import { zoneDelete } from "./commands/zone/delete.ts";
import { zoneExport } from "./commands/zone/export.ts";
import { zoneList } from "./commands/zone/list.ts";

const workers: readonly Command[] = [
  deploy,
  versionsList,
  versionsView,
  versionsUpload,
  deploymentsList,
  deploymentsStatus,
  rollback,
  tail,
  deleteWorker,
  secretPut,
  secretList,
  secretDelete,
  secretBulk,
];
const kv: readonly Command[] = [
  kvNamespaceCreate,
  kvNamespaceList,
  kvNamespaceDelete,
  kvKeyPut,
  kvKeyGet,
  kvKeyList,
  kvKeyDelete,
  kvBulkPut,
  kvBulkDelete,
];
const r2: readonly Command[] = [r2BucketCreate, r2BucketList, r2BucketDelete, r2ObjectPut, r2ObjectGet, r2ObjectDelete];
const d1: readonly Command[] = [
  d1Create,
  d1List,
  d1Info,
  d1Delete,
  d1Execute,
  d1Export,
  d1MigrationsCreate,
  d1MigrationsList,
  d1MigrationsApply,
];
const zones: readonly Command[] = [zoneCreate, zoneList, zoneDelete, zoneExport];
const routing: readonly Command[] = [
  emailRoutingList,
  emailRoutingSettings,
  emailRoutingEnable,
  emailRoutingDisable,
  emailRoutingDnsGet,
  emailRoutingDnsUnlock,
  emailRoutingDkimList,
  emailRoutingDkimRotate,
  emailRoutingRulesList,
  emailRoutingRulesGet,
  emailRoutingRulesCreate,
  emailRoutingRulesUpdate,
  emailRoutingRulesDelete,
  emailRoutingAddressesList,
  emailRoutingAddressesGet,
  emailRoutingAddressesCreate,
  emailRoutingAddressesDelete,
];
const sending: readonly Command[] = [
  emailSendingList,
  emailSendingSettings,
  emailSendingEnable,
  emailSendingDisable,
  emailSendingDnsGet,
  emailSendingSend,
  emailSendingSendRaw,
  emailSendingSuppressionsList,
  emailSendingSuppressionsCreate,
  emailSendingSuppressionsDelete,
];
const messages: readonly Command[] = [
  emailDmarcReport,
  emailLog,
  emailLogGet,
  emailQueueList,
  emailQueueGet,
  emailQueueResend,
  emailQueueCancel,
  emailTlsReport,
];
const stream: readonly Command[] = [
  streamUpload,
  streamCopy,
  streamList,
  streamGet,
  streamDelete,
  streamToken,
  streamDownload,
  streamCaptionsUpload,
  streamCaptionsList,
  streamCaptionsDelete,
  streamKeysCreate,
  streamKeysList,
  streamKeysDelete,
  streamWebhookGet,
  streamWebhookSet,
  streamWebhookDelete,
  streamWebhookDeliveries,
  streamWebhookReplay,
  streamUsage,
];
const live: readonly Command[] = [
  liveCreate,
  liveList,
  liveShow,
  liveUpdate,
  liveDelete,
  liveEnable,
  liveDisable,
  liveRotateKeys,
  liveStatus,
  liveHistory,
  liveVideos,
  liveOutputsList,
  liveOutputsCreate,
  liveOutputsEnable,
  liveOutputsDisable,
  liveOutputsDelete,
  liveWebhooksList,
  liveWebhooksCreate,
  liveWebhooksDelete,
];
const identity: readonly Command[] = [login, logout, whoami, tokenCreate, tokenList, tokenRevoke];

/** Every command, in the order help lists them. Parsing, help and completion are made from this list. */
export const COMMANDS: readonly Command[] = [
  init,
  dev,
  serve,
  types,
  ...workers,
  ...kv,
  ...r2,
  ...d1,
  ...zones,
  ...routing,
  ...sending,
  ...messages,
  doctor,
  ...stream,
  ...live,
  ...identity,
  createCompletion(() => COMMANDS),
];

/** Summaries of command groups. */
export const GROUPS: Readonly<Record<string, string>> = {
  versions: "versions of a worker",
  deployments: "deployments of a worker",
  secret: "secrets of a worker",
  kv: "KV namespaces and their keys",
  r2: "R2 buckets and their objects",
  d1: "D1 databases and their migrations",
  zone: "domains",
  email: "mail of your domains",
  stream: "videos",
  live: "live inputs",
  token: "API tokens",
};
