export { createDkimKeys, type DkimKeys } from "./dkim-keys.ts";
export { dkimMigration, dkimStateMigration } from "./keys-table.ts";
export { createServiceKeys, type ServiceKeys } from "./service-keys.ts";
export { setUpDkimRotation } from "./setup.ts";
export type { DkimKey, DkimRecord, DkimUse, DkimSigningKey } from "./types.ts";
