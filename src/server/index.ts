export { findDevServer, openLocalStorage, type LocalStorage } from "./local-storage.ts";
export { startDev } from "./dev.ts";
export type { DevOptions, DevServer } from "./dev-options.ts";
export { runDev, type RunDevOptions } from "./run-dev.ts";
export { runServe } from "./run-serve.ts";
export {
  backUpServer,
  locationOf,
  restoreServer,
  readServerSettingsOf,
  type ServerBackupOptions,
  type ServerRestoreOptions,
  type SettingsSource,
} from "./backup.ts";
export { checkServer } from "./check.ts";
export { migrateServer } from "./migrate.ts";
export { cancelServerMove, moveServer } from "./move.ts";
export { serverErrors } from "./errors.ts";
export { createSignInLink } from "./sign-in-link.ts";
export { startServe } from "./serve.ts";
export type { ServeOptions, PlatformServer } from "./serve-options.ts";
export { migrations } from "./migrations.ts";
