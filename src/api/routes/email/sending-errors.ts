import { defineErrors, type UserError } from "../../../kernel/index.ts";

/** Errors of sending, identical to the published table, code for code. The specific reason follows in `error_chain`. */
export const sendErrors = defineErrors("email.sending", {
  notFound: { code: 10000, http: 404, message: "email.sending.error.not_found" },
  invalidRequestSchema: { code: 10001, http: 400, message: "email.sending.error.invalid_request_schema" },
  internalServer: { code: 10002, http: 500, message: "email.sending.error.internal_server" },
  notImplemented: { code: 10003, http: 500, message: "email.sending.error.not_implemented" },
  throttled: { code: 10004, http: 429, message: "email.sending.error.throttled" },
  upstream: { code: 10100, http: 503, message: "email.sending.error.authentication.upstream" },
  unauthorized: { code: 10101, http: 401, message: "email.sending.error.authentication.unauthorized" },
  forbidden: { code: 10102, http: 403, message: "email.sending.error.authentication.forbidden" },
  badTokenType: { code: 10103, http: 401, message: "email.sending.error.authentication.bad_token_type" },
  notEntitled: { code: 10105, http: 403, message: "email.sending.error.authentication.not_entitled" },
  tooBig: { code: 10200, http: 400, message: "email.sending.error.email.too_big" },
  noContentLength: { code: 10201, http: 400, message: "email.sending.error.email.no_content_length" },
  invalid: { code: 10202, http: 400, message: "email.sending.error.email.invalid" },
  sendingDisabled: { code: 10203, http: 403, message: "email.sending.error.email.sending_disabled" },
  senderNotConfigured: { code: 10204, http: 403, message: "email.sending.error.email.sender_not_configured" },
});

type SendError = Exclude<keyof typeof sendErrors, "table">;

/** Maps error kinds to entries. No kind occurs in both the mail tables and the API table. */
const BY_KIND: Record<string, SendError> = {
  // Authentication errors. Some clients send a key in a different header; without a token the caller is
  // unauthenticated.
  notAuthenticated: "unauthorized",
  noCredentials: "unauthorized",
  badCredentials: "badTokenType",
  notAllowed: "forbidden",
  badIdentifier: "notFound",
  bodyTooLarge: "tooBig",
  tooManyValues: "tooBig",
  tooManyRequests: "throttled",
  busy: "throttled",
  // Message errors.
  cannotParse: "invalid",
  fromMismatch: "invalid",
  invalidMessageId: "invalid",
  invalidHeaders: "invalid",
  authorUnclear: "invalid",
  senderFieldInvalid: "invalid",
  tooManySenders: "invalid",
  recipientSuppressed: "invalid",
  sendingDisabled: "sendingDisabled",
};

const BY_CODE: Record<string, SendError> = {
  E_CONTENT_TOO_LARGE: "tooBig",
  E_SENDER_DOMAIN_NOT_AVAILABLE: "senderNotConfigured",
  E_RATE_LIMIT_EXCEEDED: "throttled",
  E_DAILY_LIMIT_EXCEEDED: "throttled",
};

/** The code of reasons in `error_chain`; distinct from all codes in this table. */
const CAUSE = 1000;

/** Maps any error of a sending operation to this table. */
export function toSendError(error: UserError): UserError {
  if (error.domain === "email.sending") return error;
  const kind =
    BY_KIND[error.kind] ?? BY_CODE[error.code] ?? (error.entry.http >= 500 ? "internalServer" : "invalidRequestSchema");
  const { code } = sendErrors.table[kind];
  const causeMessage = typeof error.code === "string" ? `${error.code}: ${error.message}` : error.message;
  // The fix ends the chain with the code of the error; the reason has a different code, so that it is not mistaken for
  // the fix.
  const chain = [
    { code: CAUSE, message: causeMessage },
    ...(error.fix === undefined ? [] : [{ code, message: error.fix }]),
  ];
  const { retryAfter = kind === "throttled" ? 1 : undefined } = error.details;
  return sendErrors[kind]({ chain, ...(retryAfter !== undefined && { retryAfter }) }, { cause: error });
}
