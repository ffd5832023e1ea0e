import { defineErrors } from "../../../kernel/index.ts";

/**
 * The messages of the real service; a worker sees them after `KV PUT failed: 400 `, and an API client sees them with a
 * code.
 */
export const kvErrors = defineErrors("kv", {
  emptyKey: { code: 10001, http: 400, message: "Key names must not be empty" },
  illegalKey: { code: 10001, http: 400, message: 'Illegal key name "{key}". Please use a different name.' },
  undecodableKey: { code: 10001, http: 400, message: "Could not URL-decode key name" },
  keyTooLong: {
    code: 10001,
    http: 414,
    message: "UTF-8 encoded length of {length} exceeds key length limit of {limit}.",
  },
  valueTooLong: { code: 10001, http: 413, message: "Value length of {length} exceeds limit of {limit}." },
  metadataTooLong: { code: 10001, http: 413, message: "Metadata length of {length} exceeds limit of {limit}." },
  badMetadata: { code: 10001, http: 400, message: "Metadata must be valid JSON" },
  badTtl: {
    code: 10001,
    http: 400,
    message: "Invalid expiration_ttl of {value}. Please specify integer greater than 0.",
  },
  shortTtl: {
    code: 10001,
    http: 400,
    message: "Invalid expiration_ttl of {value}. Expiration TTL must be at least {limit}.",
  },
  pastExpiration: {
    code: 10001,
    http: 400,
    message:
      "Invalid expiration of {value}. Please specify integer greater than the current number of seconds since the UNIX epoch.",
  },
  soonExpiration: {
    code: 10001,
    http: 400,
    message: "Invalid expiration of {value}. Expiration times must be at least {limit} seconds in the future.",
  },
  shortCacheTtl: {
    code: 10001,
    http: 400,
    message: "Invalid cache_ttl of {value}. Cache TTL must be at least {limit}.",
  },
  badLimit: {
    code: 10001,
    http: 400,
    message: "Invalid key_count_limit of {value}. Please specify an integer greater than 0.",
  },
  largeLimit: {
    code: 10001,
    http: 400,
    message: "Invalid key_count_limit of {value}. Please specify an integer less than {limit}.",
  },
  badCursor: {
    code: 10001,
    http: 400,
    message: "Invalid cursor. Please pass the cursor of the previous list() call unchanged.",
  },
  badBulkRequest: { code: 10001, http: 400, message: "Invalid bulk get request" },
  badBulkType: { code: 10001, http: 400, message: '"{type}" is not a valid type. Use "json" or "text"' },
  noBulkKeys: { code: 10001, http: 400, message: "You must request a minimum of 1 key" },
  tooManyBulkKeys: { code: 10001, http: 400, message: "You can request a maximum of {limit} keys" },
  bulkTooLarge: { code: 10001, http: 413, message: "Total size of request exceeds the limit of {megabytes}MB" },
  notJson: { code: 10001, http: 400, message: "At least one of the requested keys corresponds to a non-json value" },
  keyNotFound: { code: 10009, http: 404, message: "{operation}: 'key not found'" },
  badNamespaceId: {
    code: 10011,
    http: 400,
    message: "could not parse UUID from request's namespace_id: 'uuid: incorrect UUID length: {id}'",
    fix: "Use the 32-hex-digit namespace id.",
  },
  namespaceNotFound: { code: 10013, http: 404, message: "namespace not found" },
  namespaceNotFoundIn: { code: 10013, http: 404, message: "{operation}: 'namespace not found'" },
  /** For a worker that is still bound to the namespace: 404 would mean that only the key is absent. */
  namespaceGone: { code: 10013, http: 410, message: "namespace not found" },
  idTaken: {
    code: 10014,
    http: 409,
    permanent: true,
    message: "a namespace with the id {id} already exists, or was deleted within the last hour",
    fix: "Use another id, or omit the Reelpost-Id header.",
  },
  titleTaken: {
    code: 10014,
    http: 400,
    message: "a namespace with this account ID and title already exists",
    fix: "Choose a title other than {title}, or delete that namespace first.",
  },
  badTitle: {
    code: 10001,
    http: 400,
    message: "The namespace title is invalid.",
    fix: "Use 1 to {limit} characters, and no control characters.",
  },
  tooManyNamespaces: {
    code: 10001,
    http: 400,
    message: "This account has reached the maximum of {limit} namespaces.",
    fix: "Delete unused namespaces.",
  },
  badBulkPair: { code: 10001, http: 400, message: "Pair {index} ({key}) is invalid: {reason}" },
  tooManyPairs: { code: 10001, http: 400, message: "A request can contain at most {limit} keys" },
  noValuePart: {
    code: 10001,
    http: 400,
    message: "A multipart write needs a part named value",
    fix: "Send a part named `value` and, optionally, one named `metadata`; or send the value as the entire body.",
  },
  noEndpoint: { code: 10001, http: 405, message: "Method Not Allowed" },
});
