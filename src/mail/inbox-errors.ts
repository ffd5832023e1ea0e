/** Errors of the inbox, which stores messages for inspection. */
export const inboxErrorEntries = {
  inboxMessageMissing: {
    code: "E_NOT_FOUND",
    http: 404,
    message: "Message {id} not found",
    fix: "List the inbox to find valid ids; the oldest messages are deleted when the inbox is full.",
  },
  inboxAttachmentMissing: {
    code: "E_NOT_FOUND",
    http: 404,
    message: "Message {id} has no attachment {n}",
    fix: "Use an index of `attachments`, which starts at 0.",
  },
  inboxHtmlMissing: {
    code: "E_NOT_FOUND",
    http: 404,
    message: "Message {id} has no HTML part",
    fix: "Use its field `text`.",
  },
  inboxContentInvalid: {
    code: "E_VALIDATION_ERROR",
    http: 422,
    message: "Cannot parse message {id}: {reason}",
    fix: "Download the raw message instead.",
  },
  inboxSearchInvalid: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    message: "Invalid search: {reason}",
    fix: 'Use words, "phrases", from:, to:, subject:, worker:, kind:, status:, id:, has:attachment, is:read, is:unread, before: and after:; a leading - excludes.',
  },
  tooManyInboxWaiters: {
    code: "E_RATE_LIMIT_EXCEEDED",
    http: 429,
    message: "{limit} requests are already waiting for messages",
    fix: "Send fewer concurrent wait requests.",
  },
  inboxWorkerMissing: {
    code: "E_NOT_FOUND",
    http: 404,
    message: "The worker {worker} does not exist",
    fix: "Use one of the running workers: {names}.",
  },
  releaseServerMissing: {
    code: "E_FIELD_MISSING",
    http: 400,
    message: "No SMTP server to release the message to",
    fix: "Send `server` (smtp://user:password@host:587), or set inbox.release_server.",
  },
  releaseServerInvalid: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    message: "Invalid SMTP server {server}: {reason}",
    fix: "Use `smtp://host:25`, `smtp://user:password@host:587` or `smtps://user:password@host`, and percent-encode special characters in the password.",
  },
  inboxRecipientsMissing: {
    code: "E_FIELD_MISSING",
    http: 400,
    message: "The message has no recipients",
    fix: "Pass at least one address in `to`.",
  },
};
