import { randomBytes, randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { createApi, TOKEN, type Api, type Scope } from "../../test/e2e/serve-client.ts";
import { spawnServe, temporaryFolder, type ServeProcess } from "../../test/support/serve.ts";

const START_DEADLINE_MS = 60_000;
const RESTART_PAUSE_MS = 500;

/** A node that accepts connections. */
export interface LiveNode {
  name: string;
  server: ServeProcess;
  api: Api;
}

export interface Platform {
  /** Returns all nodes that accept connections, sorted by name. */
  live(): LiveNode[];
  /** Returns a random one of them, as a load balancer would. Throws if there is none. */
  any(): LiveNode;
  /** Returns the node whose D1 databases are used. Throws if it is not live. */
  first(): LiveNode;
  /** Kills a random node with SIGKILL and starts it again. Returns its name, and the seconds until it was ready. */
  killOne(): Promise<{ name: string; seconds: number }>;
  /** Returns error lines from the logs of all processes, at most 20. */
  errors(): string[];
  /** Kills all nodes. */
  close(): Promise<void>;
}

interface PlatformOptions {
  nodes: number;
  /** Settings of all nodes: the database, the bucket, the next hop. */
  env: Record<string, string>;
}

/** Starts `reelpost serve` processes with all roles that share the database and the bucket in `env`. */
export async function startPlatform(scope: Scope, { nodes: count, env }: PlatformOptions): Promise<Platform> {
  const shared = {
    REELPOST_API_TOKEN: TOKEN,
    REELPOST_SECRETS_KEY: randomBytes(32).toString("base64"),
    REELPOST_CLUSTER_LISTEN: "127.0.0.1:0",
    REELPOST_CLUSTER_DRAIN_SECONDS: "0",
    REELPOST_LOG_LEVEL: "warn",
    ...env,
  };
  const names = Array.from({ length: count }, (_, n) => `node-${n + 1}`);
  const folders = new Map<string, string>();
  for (const name of names) folders.set(name, await temporaryFolder(scope, name));
  const running = new Map<string, LiveNode>();
  const logs: ServeProcess[] = [];

  async function start(name: string): Promise<void> {
    const server = await spawnServe(scope, {
      dataDirectory: folders.get(name)!,
      env: { ...shared, REELPOST_CLUSTER_NAME: name },
    });
    logs.push(server);
    running.set(name, { name, server, api: createApi(server.ready, TOKEN) });
    void server.exited.then(() => {
      if (running.get(name)?.server === server) running.delete(name);
    });
  }

  /** Retries like a service manager, because a node cannot start while the database has no primary. */
  async function restart(name: string): Promise<void> {
    for (const deadline = Date.now() + START_DEADLINE_MS; ; await sleep(RESTART_PAUSE_MS)) {
      try {
        return await start(name);
      } catch (err) {
        if (Date.now() > deadline) throw new Error(`${name} did not start again`, { cause: err });
      }
    }
  }

  const live = () => names.flatMap((name) => running.get(name) ?? []);
  // The first node creates the tables and the account.
  await start(names[0]!);
  await Promise.all(names.slice(1).map(start));
  return {
    live,
    any() {
      const nodes = live();
      if (nodes.length === 0) throw new Error("no node is live");
      return nodes[randomInt(nodes.length)]!;
    },
    first() {
      const node = running.get(names[0]!);
      if (node === undefined) throw new Error(`${names[0]} is not live`);
      return node;
    },
    async killOne() {
      const name = names[randomInt(names.length)]!;
      const startedAt = performance.now();
      const node = running.get(name);
      running.delete(name);
      node?.server.child.kill("SIGKILL");
      await node?.server.exited;
      await restart(name);
      return { name, seconds: (performance.now() - startedAt) / 1000 };
    },
    errors: () =>
      logs
        .flatMap((server) => server.log().split("\n"))
        .filter((line) => /"level":[56]0/.test(line))
        .slice(-20),
    async close() {
      await Promise.all(
        live().map(async ({ server }) => {
          server.child.kill("SIGKILL");
          await server.exited;
        }),
      );
    },
  };
}
