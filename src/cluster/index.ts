export { followDatabaseTime, meterDatabaseTime, type DatabaseTime } from "./database-time.ts";
export { checkVersions, joinCluster, type Membership } from "./membership.ts";
export { clusterMigrations } from "./migrations.ts";
