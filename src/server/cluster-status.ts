import type { ClusterNode, DatabaseTime, ReplicationPeer } from "../cluster/index.ts";
import { messageOf } from "../kernel/index.ts";
import type { Finding } from "./doctor/finding.ts";
import { passedFinding } from "./doctor/finding.ts";

/** The number of leases of one kind that a process holds. */
interface LeaseCount {
  kind: string;
  /** The first 16 digits of the node's id. */
  holder: string;
  count: number;
}

interface ClusterStatus {
  /** Id of the node that responds. */
  node: string;
  nodes: readonly ClusterNode[];
  clock: { differenceMs: number; roundTripMs: number; agrees: boolean } | undefined;
  database: { kind: "sqlite" | "postgresql"; roundTripMs: number; standbys: readonly ReplicationPeer[] | undefined };
  objects: { roundTripMs: number | undefined; error: string | undefined };
  /** `node` is undefined if the holder is no longer live. */
  leases: { kind: string; node: string | undefined; count: number }[];
}

interface ClusterStatusDeps {
  /** Undefined on SQLite. */
  cluster: { id: string; nodes(): readonly ClusterNode[]; databaseTime: Pick<DatabaseTime, "state"> } | undefined;
  /** This process, which is the only node with SQLite. */
  self: ClusterNode;
  /** Rejects if the database does not respond. */
  ready(): Promise<void>;
  standbys(): Promise<readonly ReplicationPeer[] | undefined>;
  objects: { check(): Promise<number> };
  leases(): Promise<LeaseCount[]>;
}

/** Resolves with the state of the nodes, the database and the objects. Rejects if the database does not respond. */
export async function clusterStatus(deps: ClusterStatusDeps): Promise<ClusterStatus> {
  const { cluster, self, ready, standbys, objects, leases } = deps;
  const before = performance.now();
  await ready();
  const roundTripMs = performance.now() - before;
  const nodes = cluster === undefined ? [self] : cluster.nodes();
  const [peers, objectStore, held] = await Promise.all([
    standbys(),
    objects.check().then(
      (ms) => ({ roundTripMs: ms, error: undefined }),
      (err: unknown) => ({ roundTripMs: undefined, error: messageOf(err) }),
    ),
    leases(),
  ]);
  return {
    node: cluster?.id ?? self.id,
    nodes,
    clock: cluster?.databaseTime.state(),
    database: { kind: cluster === undefined ? "sqlite" : "postgresql", roundTripMs, standbys: peers },
    objects: objectStore,
    leases: held.map(({ kind, holder, count }) => ({
      kind,
      node: nodes.find(({ id }) => id.startsWith(holder))?.id,
      count,
    })),
  };
}

/** Returns findings about the nodes for `reelpost doctor`. */
export function clusterFindings(cluster: ClusterStatusDeps["cluster"]): Finding[] {
  if (cluster === undefined) return [];
  const nodes = cluster.nodes();
  const versions = [...new Set(nodes.map(({ version }) => version))];
  const unreachable = nodes.filter(({ address }) => address === "").map(({ name }) => name);
  const { differenceMs, agrees } = cluster.databaseTime.state();
  const seconds = (Math.abs(differenceMs) / 1000).toFixed(2);
  return [
    agrees
      ? passedFinding("clock", `differs by ${seconds} s from that of the database`)
      : {
          check: "clock",
          status: "error",
          found: `differs by ${seconds} s from that of the database`,
          expected: "at most 1 s",
          fix: "Synchronize both machines with NTP.",
        },
    versions.length === 1
      ? passedFinding("nodes", `${nodes.length} of version ${versions[0]}`)
      : {
          check: "nodes",
          status: "warning",
          found: `versions ${versions.toSorted().join(", ")}`,
          fix: "Complete the upgrade of all nodes.",
        },
    ...(nodes.length > 1 && unreachable.length > 0
      ? [
          {
            check: "internal listener",
            status: "warning" as const,
            found: `missing on ${[...new Set(unreachable)].join(", ")}`,
            fix: "Set cluster.listen on every node, so that a node can forward requests for roles that it lacks.",
          },
        ]
      : []),
  ];
}
