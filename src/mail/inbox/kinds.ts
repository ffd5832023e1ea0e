export const INBOX_KINDS = ["received", "forwarded", "replied", "sent"] as const;
/** `received`: arrived here. The others were sent by a worker. */
export type InboxKind = (typeof INBOX_KINDS)[number];

export const INBOX_STATUSES = ["processing", "accepted", "rejected", "failed", "interrupted", "captured"] as const;
/**
 * `accepted`, `rejected`, `failed`: the result of the worker, for any recipient. `interrupted`: the server stopped
 * before the worker had finished. `captured`: stored instead of delivered.
 */
export type InboxStatus = (typeof INBOX_STATUSES)[number];
