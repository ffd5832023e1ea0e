export type { Db, Migration } from "./db/port.ts";
export { createGroupCommitter, type GroupCommitter } from "./db/commits.ts";
export { createMetricBuffer } from "./db/metric-buffer.ts";
export { migrate } from "./db/migrate.ts";
export { choosePeriod, deleteOldSums, readSums, startOf, type SumPeriod, type SumsRow } from "./db/period-sums.ts";
export { prepareQuery } from "./db/prepared-query.ts";
export { loadRows } from "./db/row-load.ts";
export { openRowSnapshot, type DatabaseAddress, type PortableValue, type RowSnapshot } from "./db/row-snapshot.ts";
export { openPostgres } from "./db/postgres.ts";
export { parsePostgresUrl } from "./db/postgres-address.ts";
export {
  filterCondition,
  roundedTime,
  type ColumnValue,
  type FilterOperator,
  type RowFilter,
} from "./db/row-filter.ts";
export { openSqlite } from "./db/sqlite.ts";
export { freezeSqlite, unfreezeSqlite } from "./db/sqlite-freeze.ts";
export { createTrigramExtension, trigramQuery } from "./db/trigrams.ts";
export { countRows, rowCount } from "./db/row-counts.ts";
export { isUniqueViolation } from "./db/unique-violation.ts";
export { makeDurableFolder } from "./durable-folder.ts";
export { isStoreError, storeErrors } from "./errors.ts";
export { publishChange, onPublishedChange, type Change } from "./events/changes.ts";
export { createLocalEvents } from "./events/local.ts";
export type { Events } from "./events/port.ts";
export { openPostgresEvents } from "./events/postgres.ts";
export type { EventChannel } from "./events/relayed.ts";
export { createVersions, type Versions } from "./events/versions.ts";
export { createJobs } from "./jobs/jobs.ts";
export { countRunningJobs, jobsMigrations } from "./jobs/jobs-table.ts";
export type { Job, JobContext, Jobs, JobWorker } from "./jobs/port.ts";
export { openFsObjects } from "./objects/fs/fs.ts";
export { listFiles as listObjectFiles } from "./objects/fs/list.ts";
export { holdObjects, type ObjectHold } from "./objects/fs/hold.ts";
export { withLeasedFiles } from "./objects/leased-files.ts";
export type { ObjectHandle, ObjectStore, PartialObject, StoredObject } from "./objects/port.ts";
export { createSecrets } from "./secrets/aes-gcm.ts";
export { parseKeys } from "./secrets/keys.ts";
export { openSecrets } from "./secrets/open-secrets.ts";
export type { Secrets } from "./secrets/port.ts";
export { migrateDatabase } from "./migrate-database.ts";
export { openObjectsAt } from "./open-objects.ts";
export { openStore } from "./open-store.ts";
export { deleteInBatches } from "./sweeps/batches.ts";
export type { Sweeps } from "./sweeps/port.ts";
export { localSweeps } from "./sweeps/sweeps.ts";
export { storeMigrations } from "./migrations.ts";
export type { Store } from "./store.ts";
