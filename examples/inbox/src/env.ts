export interface Env {
  /** The title of the page. */
  MAILBOX_NAME: string;
  /** Attachments under `<message id>/<number>`. */
  ATTACHMENTS: R2Bucket;
  /** One row per message and attachment: see messages-table.ts. */
  MESSAGES: D1Database;
  /** The key "counters": see counters.ts. */
  COUNTERS: KVNamespace;
}
