export interface Env {
  ACCOUNT_ID: string;
  /** Requires the permissions Stream Read and Stream Write. */
  API_TOKEN: string;
  /** URL of the server; default: the hosted service. */
  API_BASE_URL?: string;

  /** A signing key and its private half as a base64 JWK. Without a key, every token is requested from the API. */
  STREAM_KEY_ID?: string;
  STREAM_JWK?: string;

  /** The API returned this secret when the webhook was registered. */
  WEBHOOK_SECRET?: string;

  /** URL of players and videos; `{code}` is replaced by STREAM_CUSTOMER_CODE. Default: that of the API. */
  DELIVERY_URL?: string;
  STREAM_CUSTOMER_CODE?: string;

  /** State of each video, as metadata under its uid. */
  VIDEOS: KVNamespace;
}
