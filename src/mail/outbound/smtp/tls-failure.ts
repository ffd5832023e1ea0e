import { messageOf } from "../../../kernel/index.ts";
import type { TlsFailure, TlsFailureType } from "../types.ts";
import { clean } from "./replies.ts";

/** Error codes of Node's TLS client. */
const TYPE_BY_CODE: Record<string, TlsFailureType> = {
  ERR_TLS_CERT_ALTNAME_INVALID: "certificate-host-mismatch",
  CERT_HAS_EXPIRED: "certificate-expired",
  CERT_NOT_YET_VALID: "certificate-expired",
};

const NOT_TRUSTED_CODE =
  /^(?:UNABLE_TO_|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED_|CERT_|CRL_|INVALID_CA$|INVALID_PURPOSE$|PATH_LENGTH_EXCEEDED$|HOSTNAME_MISMATCH$)/;
const MAX_REASON_LENGTH = 200;

/** Returns the result type of a certificate error; undefined for other errors. */
export function certificateFailure(code: string | undefined): TlsFailureType | undefined {
  if (code === undefined) return undefined;
  return TYPE_BY_CODE[code] ?? (NOT_TRUSTED_CODE.test(code) ? "certificate-not-trusted" : undefined);
}

/** Returns the result type of an error in STARTTLS or in the handshake (RFC 8460 4.3). */
export function tlsFailureOf(err: unknown): TlsFailure {
  const { code, originalCode, response } = (err ?? {}) as { code?: string; originalCode?: string; response?: unknown };
  const errorCode = originalCode ?? code;
  if (typeof response === "string" && response !== "" && errorCode === "ETLS")
    return { type: "starttls-not-supported", reason: reasonOf(response) };
  const type = certificateFailure(errorCode);
  return type === undefined
    ? { type: "validation-failure", reason: reasonOf(messageOf(err)) }
    : { type, reason: reasonOf(errorCode!) };
}

const reasonOf = (text: string) => clean(text).slice(0, MAX_REASON_LENGTH);
