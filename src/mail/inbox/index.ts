export { createInboxActions, type InboxActions } from "./actions.ts";
export { htmlPage, htmlPolicy } from "./html.ts";
export { INBOX_KINDS, INBOX_STATUSES } from "./kinds.ts";
export { checkLinks, linksOf } from "./links.ts";
export { inboxMigrations } from "./messages-table.ts";
export { createInboxRecorder } from "./recorder.ts";
export { parseInboxSearch } from "./search.ts";
export { openInbox } from "./store.ts";
export type { Inbox, InboxMessage } from "./types.ts";
