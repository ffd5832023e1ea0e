/**
 * Errors of message.forward() and message.reply(). Existing Email Workers match on these texts, so they must not
 * change.
 */
export const actionErrorEntries = {
  // ---- message.forward()
  destinationInvalid: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    message: "destination address is invalid",
    fix: "Use one address like user@example.com without a display name. Given: {address}",
  },
  destinationNotVerified: {
    code: "E_RECIPIENT_NOT_ALLOWED",
    http: 403,
    message: "destination address not verified",
    fix: "Add {address} to the destination addresses and open the link in the verification email.",
  },
  alreadyForwarded: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    message: "message already forwarded to this destination",
    fix: "Call forward() once per destination.",
  },
  sameWorker: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    message: "cannot forward email to same worker",
    fix: "Forward to an address that does not route to this worker. Given: {address}",
  },
  tooManyForwards: {
    code: "E_TOO_MANY_RECIPIENTS",
    http: 400,
    message: "message already forwarded to {limit} destinations",
    fix: "Send to a mailing list instead.",
  },
  forwardHeaderNotAllowed: {
    code: "E_HEADER_NOT_ALLOWED",
    http: 400,
    message: "only X-* headers can be added to a forwarded message, not '{name}'",
    fix: "Use a header name that begins with X-.",
  },
  transientFailure: {
    code: "E_DELIVERY_FAILED",
    http: 502,
    message: "could not send email: Unknown error: transient error ({status}): {reply}",
    fix: "Try again later.",
  },
  permanentFailure: {
    code: "E_DELIVERY_FAILED",
    http: 502,
    message: "could not send email: Unknown error: permanent error ({status}): {reply}",
  },

  // ---- message.reply()
  notReplyable: { code: "E_VALIDATION_ERROR", http: 400, message: "Original email is not replyable", fix: "{why}" },
  alreadyReplied: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    message: "message already replied to",
    fix: "Call reply() once per message.",
  },
  noInReplyTo: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    message: "no In-Reply-To header found in reply message",
    fix: "Set In-Reply-To to the Message-ID of the incoming message, {messageId}: message.headers.get('Message-ID').",
  },
  inReplyToMismatch: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    message: "In-Reply-To does not match original Message-ID",
    fix: "Set In-Reply-To to {messageId}, the Message-ID of the incoming message. Given: {given}",
  },
  referencesInvalid: {
    code: "E_VALIDATION_ERROR",
    http: 400,
    message: "provided References header is invalid",
    fix: "Omit References (it is added automatically), or use the incoming References plus the incoming Message-ID, at most {limit} entries. The given References {problem}.",
  },
} as const;
