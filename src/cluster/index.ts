export { checkClusterSettings, createCluster, type Cluster } from "./cluster.ts";
export { followDatabaseTime, type DatabaseTime } from "./database-time.ts";
export { checkVersions } from "./membership.ts";
export type { ClusterNode, ReplicationPeer } from "./nodes-table.ts";
export { clusterMigrations } from "./migrations.ts";
