import { availableParallelism, loadavg } from "node:os";
import type { Log } from "../kernel/index.ts";
import { every } from "../kernel/periodic.ts";
import type { Db, Events } from "../store/index.ts";
import { clusterErrors } from "./errors.ts";
import { createNodesTable, type ClusterNode } from "./nodes-table.ts";
import { areVersionsCompatible } from "./versions.ts";

export interface ClusterMembership {
  /** The id of this process. */
  readonly id: string;
  /** Returns the live nodes as of the last successful read, this one included. */
  nodes(): readonly ClusterNode[];
  /** Calls `listener` after each read that shows a change in the nodes, their addresses or their draining state. */
  onChange(listener: () => void): void;
  /** Announces to the other nodes that they must not send further requests. A failure is logged. */
  drain(): Promise<void>;
  /** Stops the heartbeat and removes the row, so that the other nodes notice immediately. */
  close(): Promise<void>;
}

interface MembershipDeps {
  db: Db;
  events: Pick<Events, "publish" | "subscribe">;
  log: Log;
  node: Pick<ClusterNode, "id" | "name" | "address" | "roles" | "version">;
  /** Defaults: 2 s, 6 s, 1 min. */
  limits?: { beatMs?: number; deadMs?: number; sweepMs?: number };
}

const BEAT_MS = 2000;
/** Three missed heartbeats. */
const DEAD_MS = 6000;
const SWEEP_MS = 60_000;
const TOPIC = "cluster";

/** Throws versionsApart if a live node runs an incompatible version. Call it before migrations change the schema. */
export async function checkVersions(db: Db, version: string): Promise<void> {
  const table = createNodesTable(db);
  if (!(await table.exists())) return;
  rejectIncompatible(await table.list(DEAD_MS), version);
}

function rejectIncompatible(nodes: readonly ClusterNode[], version: string): void {
  const other = nodes.find((node) => !areVersionsCompatible(node.version, version));
  if (other !== undefined) throw clusterErrors.versionsApart({ name: other.name, other: other.version, version });
}

/** Registers this process as a node of its database. Throws versionsApart. */
export async function joinCluster({ db, events, log, node, limits = {} }: MembershipDeps): Promise<ClusterMembership> {
  const { beatMs = BEAT_MS, deadMs = DEAD_MS, sweepMs = SWEEP_MS } = limits;
  const table = createNodesTable(db);
  const listeners: (() => void)[] = [];
  let nodes: readonly ClusterNode[] = [];
  let isDraining = false;
  let isClosed = false;
  let isFailing = false;
  let beatAt = -Infinity;
  /** Monotonic time until which nodes that were live before a database outage remain listed. */
  let graceUntil = -Infinity;
  let reading: Promise<void> | undefined;
  let mustReadAgain = false;

  async function beat() {
    const at = performance.now();
    try {
      await table.beat({ ...node, load: currentLoad(), isDraining });
      // The other nodes may count this one as dead. Half the limit is late enough: the heartbeats of others may be
      // older.
      if (at - beatAt > deadMs / 2) {
        events.publish(TOPIC, node.id);
        // After a database outage all heartbeats are late. The first node that resumes must not close its connections
        // to the others.
        graceUntil = performance.now() + deadMs;
      }
      beatAt = at;
      await table.sweep(sweepMs);
      await read();
      if (isFailing) log.info("cluster: heartbeat succeeded again");
      isFailing = false;
    } catch (err) {
      if (!isFailing) log.warn({ err }, "cluster: failed to send the heartbeat, will retry");
      isFailing = true;
    }
  }

  /** Concurrent calls share one query, which starts after the last call. */
  async function read(): Promise<void> {
    if (reading !== undefined) {
      mustReadAgain = true;
      return reading;
    }
    reading = readNodes().finally(() => (reading = undefined));
    return reading;
  }

  async function readNodes() {
    do {
      mustReadAgain = false;
      const before = nodes.map(signature).join();
      const listed = await table.list(deadMs);
      const ids = new Set(listed.map(({ id }) => id));
      nodes =
        performance.now() < graceUntil
          ? [...nodes.filter(({ id }) => !ids.has(id)), ...listed].toSorted(byStart)
          : listed;
      if (nodes.map(signature).join() !== before) for (const listener of listeners) listener();
    } while (mustReadAgain);
  }

  await table.beat({ ...node, load: currentLoad(), isDraining });
  beatAt = performance.now();
  try {
    await read();
    // If two incompatible nodes start at the same time, at least one of them reads the other's row.
    rejectIncompatible(nodes, node.version);
  } catch (err) {
    await table.remove(node.id).catch(() => {});
    throw err;
  }
  events.publish(TOPIC, node.id);
  const unsubscribe = events.subscribe(TOPIC, (id) => {
    if (id !== node.id && !isClosed)
      read().catch((err: unknown) => log.debug({ err }, "cluster: failed to read the list of nodes, will retry"));
  });
  const beats = every(beatMs, beat, { name: "cluster: heartbeat", log });

  return {
    id: node.id,
    nodes: () => nodes,
    onChange: (listener) => void listeners.push(listener),
    async drain() {
      isDraining = true;
      try {
        await table.beat({ ...node, load: currentLoad(), isDraining });
        events.publish(TOPIC, node.id);
      } catch (err) {
        log.warn({ err }, "cluster: failed to announce the shutdown to the other nodes");
      }
    },
    async close() {
      isClosed = true;
      unsubscribe();
      await beats.stop();
      try {
        await table.remove(node.id);
        events.publish(TOPIC, node.id);
      } catch (err) {
        log.warn({ err }, "cluster: failed to remove this node; the other nodes will notice within seconds");
      }
    },
  };
}

const byStart = (one: ClusterNode, other: ClusterNode) =>
  one.startedAt - other.startedAt || (one.id < other.id ? -1 : 1);

const signature = ({ id, address, isDraining }: ClusterNode) => `${id} ${address} ${isDraining}`;

const currentLoad = () => Math.round((loadavg()[0]! / availableParallelism()) * 100);
