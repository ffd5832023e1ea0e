export { createLive, type LiveServices } from "./live.ts";
export { liveMigrations } from "./migrations.ts";
export type { LivePorts } from "./ingest/listeners.ts";
export type { LiveNow } from "./inputs/broadcasts.ts";
export { createLiveInputs } from "./inputs/live-inputs.ts";
export { listLiveInput, type LiveUrls, showLiveHistory, showLiveInput, showLiveOutput } from "./inputs/show.ts";
export type { LiveInputChange, LiveInputs, OwnedLiveInput, OwnedLiveOutputs } from "./inputs/types.ts";
export { liveNotificationExample } from "./notifications/body.ts";
export type { LiveHealth } from "./session.ts";
