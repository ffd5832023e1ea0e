import { defineErrors, type UserError } from "../../../kernel/index.ts";

/** What a message that was not sent is answered with: the published table, code for code. Why in particular follows in `error_chain`. */
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

/** By kind where the kind decides; the table of mail and that of the API share none of these words. */
const BY_KIND: Record<string, SendError> = {
  // Who asks. Some clients send a key as a header of its own: what is no token is nobody here.
  notAuthenticated: "unauthorized",
  noCredentials: "unauthorized",
  badCredentials: "badTokenType",
  notAllowed: "forbidden",
  badIdentifier: "notFound",
  bodyTooLarge: "tooBig",
  tooManyValues: "tooBig",
  tooManyRequests: "throttled",
  busy: "throttled",
  // What the message is.
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

/** Of the links of a chain that tell why; any number that is no error of this table. */
const CAUSE = 1000;

/** Any error of an operation that sends, in the words of the table. */
export function toSendError(error: UserError): UserError {
  if (error.domain === "email.sending") return error;
  const kind =
    BY_KIND[error.kind] ?? BY_CODE[error.code] ?? (error.entry.http >= 500 ? "internalServer" : "invalidRequestSchema");
  const { code } = sendErrors.table[kind];
  const why = typeof error.code === "string" ? `${error.code}: ${error.message}` : error.message;
  // What to do ends the chain under the code of the error itself; the cause has another one, so that nobody takes it for advice.
  const chain = [{ code: CAUSE, message: why }, ...(error.fix === undefined ? [] : [{ code, message: error.fix }])];
  const { retryAfter = kind === "throttled" ? 1 : undefined } = error.details;
  return sendErrors[kind]({ chain, ...(retryAfter !== undefined && { retryAfter }) }, { cause: error });
}
