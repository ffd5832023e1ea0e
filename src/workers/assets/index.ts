export { readBasePath } from "./base-path.ts";
export { HTML_HANDLING, NOT_FOUND_HANDLING, workerFirstProblem, type AssetsConfig } from "./config.ts";
export { assetErrors } from "./errors.ts";
export { ASSET_LIMITS } from "./limits.ts";
export { createFolderSite, type FolderSite } from "./files/dev-site.ts";
export { createAssets, type AssetUploads } from "./store/assets.ts";
export { assetMigrations } from "./store/schema.ts";
