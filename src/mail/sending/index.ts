export { createSendEmailBinding } from "./binding.ts";
export { compose } from "./compose.ts";
export { sendingMigration } from "./domains-table.ts";
export { createSendingDomains } from "./domains.ts";
export { readDraft, recipientsOf } from "./draft.ts";
export { sendingErrors } from "./errors.ts";
export { REST_FIELDS } from "./field-names.ts";
export { checkForwardHeaders } from "./header-policy.ts";
export { finishRawMessage, readRawMessage } from "./raw.ts";
export { composeWithLimit, createSendEmail, draftPartsOf } from "./send-email.ts";
export { sendTextMessage } from "./send-text.ts";
export { createSending, type SendingLimits } from "./sending.ts";
export { setUpSending, setUpSendingDomains } from "./setup.ts";
export type {
  SendResult,
  Sending,
  SendingDnsStatus,
  SendingDomain,
  SendingDomains,
  SendingPreview,
  SendingUsage,
  SendingZone,
} from "./types.ts";
