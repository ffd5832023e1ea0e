export { createActivity, type Activity } from "./activity.ts";
export type { CountColumn, CountFilter } from "./counts-table.ts";
export { activityMigrations } from "./entries-table.ts";
export { activityErrors } from "./errors.ts";
export { sessionOf } from "./entry-reference.ts";
export { createSentMessages, type SentMessages } from "./sent-messages.ts";
export { setUpActivity, type ActivitySetup } from "./setup.ts";
export { ENTRY_ACTIONS, ENTRY_STATUSES, type Entry, type EntryKind, type EntryQuery } from "./types.ts";
