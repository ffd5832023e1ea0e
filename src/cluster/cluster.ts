import type { IncomingMessage, ServerResponse } from "node:http";
import { hostname } from "node:os";
import type { Duplex } from "node:stream";
import { createClientAddress } from "../kernel/client-address.ts";
import type { Basics } from "../kernel/index.ts";
import type { Metrics } from "../kernel/metrics.ts";
import type { Settings } from "../kernel/settings.ts";
import type { Secrets, Store } from "../store/index.ts";
import { formatAddress, parseHostPort } from "./address.ts";
import { createNodeIdentity } from "./authority.ts";
import { meterDatabaseTime, type DatabaseTime } from "./database-time.ts";
import { clusterErrors } from "./errors.ts";
import { createForwarder, type ForwardFailure } from "./forwarder.ts";
import { listenForNodes, type ForwardedHandlers } from "./listener.ts";
import { joinCluster, type ClusterMembership } from "./membership.ts";
import { createNodesTable, type ClusterNode, type ReplicationPeer } from "./nodes-table.ts";

interface ClusterDeps {
  store: Pick<Store, "db" | "events">;
  secrets: Secrets;
  settings: Pick<Settings, "cluster" | "http">;
  roles: ReadonlySet<string>;
  version: string;
  databaseTime: DatabaseTime;
  metrics: Metrics;
  /** Id of this process: 32 hex digits, new for each run. */
  id: string;
}

/** Sends requests to other nodes; see Forwarder. */
interface RoleForwarding {
  has(role: string): boolean;
  canForward(role: string): boolean;
  send(role: string, request: IncomingMessage, response: ServerResponse): Promise<ForwardFailure | undefined>;
  upgrade(role: string, request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>;
}

/** This process as a node. The nodes of a cluster are the processes that share one PostgreSQL database. */
export interface Cluster {
  readonly id: string;
  readonly databaseTime: DatabaseTime;
  /** Live nodes, this one included; empty before join(). */
  nodes(): readonly ClusterNode[];
  /** Returns the standbys of the PostgreSQL server; undefined if it is itself a standby. */
  standbys(): Promise<readonly ReplicationPeer[] | undefined>;
  /** Undefined if `cluster.listen` is not set. */
  readonly forwarding: RoleForwarding | undefined;
  /** Opens the internal listener, if `cluster.listen` is set. */
  listen(handlers: ForwardedHandlers): Promise<{ port: number; close(): Promise<void> } | undefined>;
  /** Adds this process to the nodes. Call it once all listeners accept connections. Throws versionsApart. */
  join(): Promise<void>;
  /** Announces to the other nodes that they must not send further requests. Resolves after `cluster.drain_seconds`. */
  drain(): Promise<void>;
}

const WILDCARDS = new Set(["0.0.0.0", "::"]);
/** All requests for one video, or for one WebRTC session, go to the same node. */
const ROLES_WITH_AFFINITY = new Set(["playback", "live"]);

/** Throws databaseNeeded if `cluster.listen` is set without PostgreSQL. */
export function checkClusterSettings({ cluster, database }: Pick<Settings, "cluster" | "database">): void {
  if (cluster.listen !== "" && database.url === "") throw clusterErrors.databaseNeeded();
}

/** Throws badAddress and addressNeeded. */
export async function createCluster(deps: ClusterDeps, basics: Basics): Promise<Cluster> {
  const { store, settings, roles, version, databaseTime, metrics, id } = deps;
  const { clock, log, lifecycle } = basics;
  const { listen, drain_seconds: drainSeconds } = settings.cluster;
  const name = settings.cluster.name === "" ? hostname() : settings.cluster.name;
  let membership: ClusterMembership | undefined;
  let address = "";
  const nodes = () => membership?.nodes() ?? [];
  meterDatabaseTime(databaseTime, metrics);
  // Stop functions run in reverse order: this one runs after the listeners have closed.
  lifecycle.onStop("node", () => membership?.close());
  const internal = listen === "" ? undefined : await prepareInternal(listen);

  async function prepareInternal(listenAt: string) {
    const at = parseHostPort(listenAt, "cluster.listen");
    const advertised = settings.cluster.address === "" ? at : parseHostPort(settings.cluster.address);
    if (WILDCARDS.has(advertised.host)) throw clusterErrors.addressNeeded({ listen: listenAt });
    const identity = await createNodeIdentity({ db: store.db, secrets: deps.secrets, clock, log, id });
    lifecycle.onStop("node identity", identity.close);
    const counter = metrics.counter(
      "reelpost_cluster_forwarded_requests_total",
      "Requests that this node forwarded to other nodes, by role and result (answered, failed)",
      ["role", "result"],
    );
    const onResult = (role: string, result: string) => counter.inc({ role, result });
    const forwarder = createForwarder({ id, nodes, identity, log, onResult });
    lifecycle.onStop("forwarding", forwarder.close);
    return { at, advertised, identity, forwarder };
  }

  const client = createClientAddress(settings.http.trusted_proxies);
  const targetOf = (role: string, request: IncomingMessage) => ({
    role,
    client: { ip: client.ip(request), scheme: client.scheme(request) },
    affinity: ROLES_WITH_AFFINITY.has(role) ? request.url!.split(/[/?]/, 2)[1] : undefined,
  });

  return {
    id,
    databaseTime,
    nodes,
    standbys: createNodesTable(store.db).standbys,
    forwarding: internal && {
      has: (role) => roles.has(role),
      canForward: internal.forwarder.canForward,
      send: (role, request, response) => internal.forwarder.request(targetOf(role, request), request, response),
      upgrade: (role, request, socket, head) =>
        internal.forwarder.upgrade(targetOf(role, request), request, socket, head),
    },
    async listen(handlers) {
      if (internal === undefined) return undefined;
      const { at, advertised, identity } = internal;
      const { port, close } = await listenForNodes(at, { identity, handlers, log });
      address = formatAddress(advertised.host, advertised.port === 0 ? port : advertised.port);
      return { port, close };
    },
    async join() {
      membership = await joinCluster({ ...store, log, node: { id, name, address, roles: [...roles], version } });
      const gauge = metrics.gauge("reelpost_cluster_nodes", "Live nodes that share the database, including this one");
      const update = () => gauge.set(nodes().length);
      update();
      membership.onChange(() => {
        update();
        internal?.forwarder.closeStale();
      });
    },
    async drain() {
      await membership?.drain();
      if (internal !== undefined && drainSeconds > 0) await clock.sleep(drainSeconds * 1000);
    },
  };
}
