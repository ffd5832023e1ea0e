import { defineErrors } from "../../../kernel/index.ts";

/** The texts are what the real service answers; a worker sees them behind `KV PUT failed: 400 `. */
export const kvErrors = defineErrors("kv", {
  emptyKey: { code: "E_KV_KEY", http: 400, message: "Key names must not be empty" },
  illegalKey: { code: "E_KV_KEY", http: 400, message: 'Illegal key name "{key}". Please use a different name.' },
  undecodableKey: { code: "E_KV_KEY", http: 400, message: "Could not URL-decode key name" },
  keyTooLong: { code: "E_KV_KEY", http: 414, message: "UTF-8 encoded length of {length} exceeds key length limit of {limit}." },
  valueTooLong: { code: "E_KV_VALUE", http: 413, message: "Value length of {length} exceeds limit of {limit}." },
  metadataTooLong: { code: "E_KV_METADATA", http: 413, message: "Metadata length of {length} exceeds limit of {limit}." },
  badMetadata: { code: "E_KV_METADATA", http: 400, message: "Metadata must be valid JSON" },
  badTtl: { code: "E_KV_EXPIRATION", http: 400, message: "Invalid expiration_ttl of {value}. Please specify integer greater than 0." },
  shortTtl: { code: "E_KV_EXPIRATION", http: 400, message: "Invalid expiration_ttl of {value}. Expiration TTL must be at least {limit}." },
  pastExpiration: { code: "E_KV_EXPIRATION", http: 400, message: "Invalid expiration of {value}. Please specify integer greater than the current number of seconds since the UNIX epoch." },
  soonExpiration: { code: "E_KV_EXPIRATION", http: 400, message: "Invalid expiration of {value}. Expiration times must be at least {limit} seconds in the future." },
  shortCacheTtl: { code: "E_KV_CACHE_TTL", http: 400, message: "Invalid cache_ttl of {value}. Cache TTL must be at least {limit}." },
  badLimit: { code: "E_KV_LIST", http: 400, message: "Invalid key_count_limit of {value}. Please specify an integer greater than 0." },
  largeLimit: { code: "E_KV_LIST", http: 400, message: "Invalid key_count_limit of {value}. Please specify an integer less than {limit}." },
  badCursor: { code: "E_KV_LIST", http: 400, message: "Invalid cursor. Please pass the cursor of the previous list() call unchanged." },
  badBulkRequest: { code: "E_KV_BULK", http: 400, message: "Invalid bulk get request" },
  badBulkType: { code: "E_KV_BULK", http: 400, message: '"{type}" is not a valid type. Use "json" or "text"' },
  noBulkKeys: { code: "E_KV_BULK", http: 400, message: "You must request a minimum of 1 key" },
  tooManyBulkKeys: { code: "E_KV_BULK", http: 400, message: "You can request a maximum of {limit} keys" },
  bulkTooLarge: { code: "E_KV_BULK", http: 413, message: "Total size of request exceeds the limit of {megabytes}MB" },
  notJson: { code: "E_KV_BULK", http: 400, message: "At least one of the requested keys corresponds to a non-json value" },
  noEndpoint: { code: "E_KV_REQUEST", http: 405, message: "Method Not Allowed" },
});
