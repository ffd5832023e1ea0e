/** Errors that occur when a received message is delivered to its recipient. */
export const deliveryErrorEntries = {
  noSuchRecipient: {
    code: "E_RECIPIENT_NOT_ALLOWED",
    http: 400,
    smtp: 550,
    enhanced: "5.1.1",
    message: "No such recipient: {address}",
  },
  workerNotDeployed: {
    code: "E_INTERNAL_SERVER_ERROR",
    http: 503,
    smtp: 451,
    enhanced: "4.3.0",
    message: "Mail for this address is temporarily rejected, try again later",
    fix: "Deploy the worker specified in the rule for this address.",
  },
  forwardedBefore: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    smtp: 554,
    enhanced: "5.4.6",
    message: "Mail loop detected: message was already forwarded for {address}",
    fix: "Check for a destination that forwards mail back to this address.",
  },
  rejected: { code: "E_REJECTED", http: 400, smtp: 555, enhanced: "5.7.1", message: "{reason}" },
  handlerFailed: {
    code: "E_INTERNAL_SERVER_ERROR",
    http: 500,
    smtp: 451,
    enhanced: "4.3.0",
    message: "The worker for this address failed, try again later",
    fix: "Check the worker's log (`reelpost tail`).",
  },
} as const;
