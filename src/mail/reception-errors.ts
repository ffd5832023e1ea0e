/**
 * Errors of the SMTP listener and of message reception. Existing Email Workers match on the lower-case texts, so these
 * must not change.
 */
export const receptionErrorEntries = {
  messageTooLarge: {
    code: "E_CONTENT_TOO_LARGE",
    http: 400,
    smtp: 552,
    enhanced: "5.3.4",
    message: "Email message size is bigger than the production size limit of {limit}.",
    fix: "Send a smaller message, or send a link to large files.",
  },
  cannotParse: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    smtp: 554,
    enhanced: "5.6.0",
    message: "could not parse email: {why}",
    fix: "Send a message with a valid RFC 5322 header section.",
  },
  strayLineEnd: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    smtp: 550,
    enhanced: "5.6.11",
    message: "Bare {character} in message: lines must end with CR LF",
    fix: "End every line with CR LF (RFC 5321 2.3.8).",
  },
  loop: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    smtp: 554,
    enhanced: "5.4.6",
    message: "Mail loop detected: message passed through {hops} servers",
    fix: "Check for two addresses that forward to each other.",
  },
  storageFull: {
    code: "E_INTERNAL_SERVER_ERROR",
    http: 507,
    smtp: 452,
    enhanced: "4.3.1",
    message: "Insufficient storage, try again later",
    fix: "Free up disk space for the mail folder.",
  },
  tooManyFiles: {
    code: "E_INTERNAL_SERVER_ERROR",
    http: 503,
    smtp: 451,
    enhanced: "4.3.2",
    message: "Too many open files, try again later",
    fix: "Raise the open-file limit: LimitNOFILE= in the systemd unit, or `ulimit -n` in the shell that starts the server.",
  },
  fault: {
    code: "E_INTERNAL_SERVER_ERROR",
    http: 500,
    smtp: 451,
    enhanced: "4.3.0",
    message: "Message processing failed, try again later",
  },
  listenFailed: {
    code: "E_LISTEN",
    http: 500,
    message: "cannot listen for SMTP on {host}:{port}: {reason}",
    fix: "Use another address or port: {otherPort} selects a free port.",
  },
  rangeInvalid: {
    code: "E_SETTING",
    http: 400,
    message: "{setting}: {range} is neither an IP address nor a range",
    fix: "Use an address such as 10.0.0.5, or a range such as 10.0.0.0/24.",
  },
  portBusy: {
    code: "E_LISTEN",
    http: 500,
    message: "Cannot listen for SMTP: port {port} on {host} is in use by another program.",
    fix: "Stop that program, or use another port: {otherPort} selects a free one.",
  },

  reportsBusy: {
    code: "E_INTERNAL_SERVER_ERROR",
    http: 503,
    smtp: 451,
    enhanced: "4.3.2",
    message: "Too many reports in progress, try again later",
  },
} as const;
