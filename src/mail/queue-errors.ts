/** Errors of the outbound queue and of the envelope addresses given to it. */
export const queueErrorEntries = {
  queueFull: {
    code: "E_INTERNAL_SERVER_ERROR",
    http: 503,
    smtp: 452,
    enhanced: "4.3.1",
    message: "The outbound queue is full, try again later",
    fix: "The queue holds {waiting} recipients (limit {limit}). Run `reelpost email queue list` to see why they are deferred, or raise the limit.",
  },
  senderInvalid: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    smtp: 553,
    enhanced: "5.1.7",
    message: "Invalid sender address: {address}",
  },
  recipientInvalid: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    smtp: 553,
    enhanced: "5.1.3",
    message: "Invalid recipient address: {address}",
  },
  noRecipients: {
    code: "E_FIELD_MISSING",
    http: 400,
    smtp: 554,
    enhanced: "5.5.1",
    message: "The message has no recipients",
  },
  outboundNotFound: {
    code: "E_NOT_FOUND",
    http: 404,
    message: "Queued message {id} not found",
    fix: "List the queue to find valid ids; finished messages are deleted.",
  },
  notPaused: {
    code: "E_NOT_FOUND",
    http: 404,
    message: "The destination {destination} is not paused, or has no queued mail of this account",
    fix: "List the paused destinations.",
  },
  outboundGone: {
    code: "E_GONE",
    http: 410,
    message: "Cannot resend message {id}: its content was deleted",
    fix: "Send a new message. The content of a failed message is deleted after seven days.",
  },
} as const;
