/** Header fields of one connection, in lower case: a proxy must not forward them (RFC 9110 7.6.1). */
export const HOP_BY_HOP_FIELDS: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
