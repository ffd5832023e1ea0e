import { sql } from "kysely";
import type { Db } from "../store/index.ts";
import type { ClusterTables } from "./migrations.ts";

export interface ClusterNode {
  /** 32 hex digits; a new one for each run of a process. */
  id: string;
  name: string;
  /** `host:port` of the internal listener; empty if there is none. */
  address: string;
  roles: readonly string[];
  version: string;
  /** One-minute load average per CPU core, in percent. */
  load: number;
  /** Epoch milliseconds on the clock of the database. */
  startedAt: number;
  /** Milliseconds since the last heartbeat. */
  silentMs: number;
  /** The node is shutting down: other nodes must not send work to it. */
  isDraining: boolean;
}

type NodeState = Omit<ClusterNode, "startedAt" | "silentMs">;

/** A standby server of PostgreSQL. */
export interface ReplicationPeer {
  name: string;
  /** `streaming`, `catchup` and others; see pg_stat_replication. */
  state: string;
  /** `async`, `potential`, `sync` or `quorum`. */
  synchronization: string;
  /** Bytes of WAL that the standby has not replayed; null if the database user may not see them. */
  lagBytes: number | null;
}

/** Rows of running processes. All times come from the clock of the database. */
interface NodesTable {
  /** Stores the node with the current time as its heartbeat. */
  beat(node: NodeState): Promise<void>;
  /** Returns nodes with a heartbeat within the last `maxSilentMs`, in order of their start. At most 1000. */
  list(maxSilentMs: number): Promise<ClusterNode[]>;
  remove(id: string): Promise<void>;
  /** Removes nodes whose last heartbeat is older than `silentMs` milliseconds; returns their number. */
  sweep(silentMs: number): Promise<number>;
  /** Reads the current time of the database, in epoch milliseconds with fractions on PostgreSQL. */
  now(): Promise<number>;
  /** Undefined on SQLite, and on a PostgreSQL server that is itself a standby. */
  standbys(): Promise<ReplicationPeer[] | undefined>;
  /** False before the first migration of the cluster tables. */
  exists(): Promise<boolean>;
}

export function createNodesTable(db: Db): NodesTable {
  const tables = db.tables<ClusterTables>();
  const exactNow =
    db.dialect === "postgres"
      ? sql<number>`(extract(epoch from clock_timestamp()) * 1000)::float8`
      : sql<number>`unixepoch('subsec') * 1000`;
  const now = db.dialect === "postgres" ? sql<number>`${exactNow}::bigint` : sql<number>`cast(${exactNow} as integer)`;

  return {
    async beat({ id, isDraining, roles, ...values }) {
      const changing = { ...values, roles: roles.join(), draining: Number(isDraining), seen_at: now };
      await db.write(
        tables
          .insertInto("cluster_nodes")
          .values({ id, ...changing, started_at: now })
          .onConflict((conflict) => conflict.column("id").doUpdateSet(changing)),
      );
    },
    async list(maxSilentMs) {
      const rows = await db.read(
        tables
          .selectFrom("cluster_nodes")
          .select(["id", "name", "address", "roles", "version", "load", "started_at", "draining"])
          .select(sql<number>`${now} - seen_at`.as("silent"))
          .where("seen_at", ">", sql<number>`${now} - ${sql.lit(maxSilentMs)}`)
          .orderBy("started_at")
          .orderBy("id")
          .limit(1000),
      );
      return rows.map(({ started_at: startedAt, draining, silent, roles, ...row }) => ({
        ...row,
        roles: roles.split(","),
        startedAt,
        // The clock of the database may be set back.
        silentMs: Math.max(0, silent),
        isDraining: draining === 1,
      }));
    },
    remove: async (id) => void (await db.write(tables.deleteFrom("cluster_nodes").where("id", "=", id))),
    sweep: async (silentMs) =>
      (
        await db.write(
          tables.deleteFrom("cluster_nodes").where("seen_at", "<", sql<number>`${now} - ${sql.lit(silentMs)}`),
        )
      ).affected,
    now: async () => (await tables.selectNoFrom(exactNow.as("now")).executeTakeFirstOrThrow()).now,
    async standbys() {
      if (db.dialect === "sqlite") return undefined;
      const [server] = (await sql<{ standby: boolean }>`select pg_is_in_recovery() as standby`.execute(tables)).rows;
      if (server!.standby) return undefined;
      const peers = sql<ReplicationPeer>`
        select application_name as name, coalesce(state, 'unknown') as state,
          coalesce(sync_state, 'unknown') as synchronization,
          pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::float8 as "lagBytes"
        from pg_stat_replication order by application_name limit 100`;
      return (await peers.execute(tables)).rows;
    },
    async exists() {
      const names =
        db.dialect === "postgres"
          ? sql<{ name: string | null }>`select to_regclass('cluster_nodes')::text as name`
          : sql<{ name: string }>`select name from sqlite_master where name = 'cluster_nodes'`;
      return ((await names.execute(tables)).rows[0]?.name ?? null) !== null;
    },
  };
}
