export { createPlayer } from "./player.ts";
export type { UploadPageConfig } from "./upload-config.ts";
