import { setTimeout as sleep } from "node:timers/promises";
import type { Scope } from "../../test/e2e/serve-client.ts";
import { startSink } from "../../test/faults/mail-ledger/sink.ts";
import { createApiWriters } from "./api-writers.ts";
import { createMailWriters } from "./mail-writers.ts";
import { startPlatform, type Platform } from "./platform.ts";
import { createStorageWriters } from "./storage-writers.ts";
import { createUploadWriter } from "./upload-writer.ts";
import { startLoad, type Writer } from "./writer.ts";

const MINIMUM_KILLS = 2;

interface NodesOptions {
  nodes: number;
  /** Duration of the load. */
  seconds: number;
  killEverySeconds: number;
  /** Maximum time after the load until queued mail is delivered and uploaded videos are ready. */
  settleSeconds: number;
  /** Settings of the database and the bucket. */
  env: Record<string, string>;
  /** Called once, halfway through. */
  failOver?: () => Promise<void>;
  say(line: string): void;
}

interface NodesResult {
  acknowledged: number;
  lost: number;
  duplicated: number;
  acknowledgedByKind: Record<string, number>;
  lostByKind: Record<string, number>;
  /** Writes that were not acknowledged. They may or may not be stored. */
  failedByKind: Record<string, number>;
  duplicatesByReason: Record<string, number>;
  examples: string[];
  kills: number;
  failovers: number;
  failoverSeconds: number | undefined;
  slowestStartSeconds: number;
}

/** Writes to several nodes while they are killed in turn, then checks for every acknowledged item on each node. */
export async function runNodes(scope: Scope, options: NodesOptions): Promise<NodesResult> {
  const { seconds, settleSeconds, say } = options;
  const sink = await startSink();
  scope.after(() => sink.close());
  const platform = await startPlatform(scope, {
    nodes: options.nodes,
    env: {
      REELPOST_OUTBOUND_DELIVER: "smart_host",
      REELPOST_OUTBOUND_SMART_HOSTS: `smtp://127.0.0.1:${sink.port}`,
      REELPOST_OUTBOUND_RETRY_MINUTES: "0.02,0.05,0.1,0.2,0.5",
      ...options.env,
    },
  });
  try {
    const writers = [
      ...(await createMailWriters(platform, sink)),
      ...(await createStorageWriters(platform)),
      ...(await createApiWriters(platform)),
      await createUploadWriter(platform),
    ];
    say(`${options.nodes} nodes are ready`);
    const load = startLoad(writers);
    let faults: Faults;
    try {
      faults = await injectFaults(platform, options);
    } finally {
      await load.stop();
    }
    const live = platform.live().length;
    if (live < options.nodes)
      throw new Error(`only ${live} of ${options.nodes} nodes are live: ${platform.errors().join("\n")}`);
    say(`the load of ${seconds} s ended: ${JSON.stringify([...load.failed])}`);
    const { lost, duplicates } = await lookForItems(platform, writers, settleSeconds);
    if (Object.values(lost).some(({ length }) => length > 0)) for (const line of platform.errors()) say(line);
    const count = (numbers: Record<string, number>) => Object.values(numbers).reduce((sum, n) => sum + n, 0);
    const acknowledgedByKind = Object.fromEntries(writers.map(({ kind, acknowledged }) => [kind, acknowledged()]));
    const lostByKind = Object.fromEntries(Object.entries(lost).map(([kind, { length }]) => [kind, length]));
    return {
      acknowledged: count(acknowledgedByKind),
      lost: count(lostByKind),
      duplicated: count(duplicates),
      acknowledgedByKind,
      lostByKind,
      failedByKind: Object.fromEntries([...load.failed].map(([kind, failures]) => [kind, failures.count])),
      duplicatesByReason: duplicates,
      examples: Object.values(lost)
        .flatMap((items) => items.slice(0, 5))
        .slice(0, 20),
      ...faults,
    };
  } finally {
    await platform.close();
  }
}

type Faults = Pick<NodesResult, "kills" | "failovers" | "failoverSeconds" | "slowestStartSeconds">;

async function injectFaults(
  platform: Platform,
  { seconds, killEverySeconds, failOver, say }: NodesOptions,
): Promise<Faults> {
  const faults: Faults = { kills: 0, failovers: 0, failoverSeconds: undefined, slowestStartSeconds: 0 };
  const end = performance.now() + seconds * 1000;
  const left = () => end - performance.now();

  async function killNodes() {
    for (let next = performance.now(); ;) {
      next = Math.max(next + killEverySeconds * 1000, performance.now());
      // On a busy machine, restarts may take longer than the load.
      if (next >= end && faults.kills >= MINIMUM_KILLS) break;
      await sleep(Math.max(0, next - performance.now()));
      const { name, seconds: took } = await platform.killOne();
      faults.kills++;
      faults.slowestStartSeconds = Math.max(faults.slowestStartSeconds, took);
      say(`${name} was killed, and ready after ${took.toFixed(1)} s`);
    }
  }
  async function failDatabase() {
    if (failOver === undefined) return;
    await sleep(Math.max(0, left() / 2));
    const startedAt = performance.now();
    await failOver();
    faults.failovers++;
    faults.failoverSeconds = (performance.now() - startedAt) / 1000;
    say(`the database failed over within ${faults.failoverSeconds.toFixed(1)} s`);
  }
  await Promise.all([killNodes(), failDatabase()]);
  await sleep(Math.max(0, left()));
  return faults;
}

/** Checks the items repeatedly. Those that are still missing after `settleSeconds` are lost. */
async function lookForItems(platform: Platform, writers: readonly Writer[], settleSeconds: number) {
  const deadline = performance.now() + settleSeconds * 1000;
  const lost: Record<string, string[]> = {};
  const duplicates: Record<string, number> = {};
  for (const { kind, missing, duplicates: repeated } of writers) {
    for (;;) {
      const nodes = platform.live();
      lost[kind] = (await Promise.all(nodes.map(missing))).flat();
      if (lost[kind].length === 0 || performance.now() > deadline) break;
      await sleep(500);
    }
    for (const [reason, count] of Object.entries((await repeated?.(platform.first())) ?? {}))
      if (count > 0) duplicates[reason] = count;
  }
  return { lost, duplicates };
}
