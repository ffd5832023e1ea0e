export interface Env {
  ACCOUNT_ID: string;
  /** With the permissions Stream Read and Stream Write. */
  API_TOKEN: string;
  /** The server; without it the hosted service. */
  API_BASE_URL?: string;

  /** A signing key, its private half as a JWK in base64. Without one every token is asked for at the API. */
  STREAM_KEY_ID?: string;
  STREAM_JWK?: string;

  /** As told when the webhook was registered. */
  WEBHOOK_SECRET?: string;

  /** Where players and videos are; `{code}` stands for STREAM_CUSTOMER_CODE. Default: where the API is. */
  DELIVERY_URL?: string;
  STREAM_CUSTOMER_CODE?: string;

  /** What is known of each video, as metadata under its uid. */
  VIDEOS: KVNamespace;
}
