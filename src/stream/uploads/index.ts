export { videoDraft } from "./drafts.ts";
export { readStreamedForm } from "./form.ts";
export { hasUploadBody } from "./http.ts";
export { describeStatus, fetchOriginInfo, isSuccessStatus, isPermanentStatus } from "./origin.ts";
export type { UploadsDeps } from "./deps.ts";
export type { RequestedVideo, Uploads } from "./port.ts";
export { uploadsMigrations } from "./uploads-table.ts";
export { createUploads } from "./uploads.ts";
