import { join } from "node:path";
import { programForTests } from "../scripts/test/program.ts";
import type { Drill } from "./harness/drill.ts";

/** Environment variable that test/support/program.ts reads when it is loaded. */
const PROGRAM = "REELPOST_TEST_PROGRAM";
const NODES = 3;
const SECONDS = 300;
const KILL_EVERY_SECONDS = 10;
const SETTLE_SECONDS = 120;

/**
 * Runs three nodes with all roles on a bucket and PostgreSQL with a synchronous standby. Kills a random node every ten
 * seconds, and fails the database over once. Each node must then return every acknowledged item.
 */
const drill: Drill = {
  name: "nodes",
  async run(kit) {
    const seconds = kit.seconds ?? SECONDS;
    const cache = join(kit.root, "node_modules", ".cache");
    process.env[PROGRAM] ??= await programForTests(kit.root, join(cache, "reelpost-program"));
    process.env["NODE_COMPILE_CACHE"] ??= join(cache, "reelpost-tests");
    // Imported after the variable is set.
    const [{ runNodes }, { startPostgresPair }, { openBucket, startPrivateS3 }] = await Promise.all([
      import("./nodes/nodes.ts"),
      import("../test/support/postgres-pair.ts"),
      import("../test/support/radosgw.ts"),
    ]);
    const scope = { after: kit.onStop };
    const s3 = await startPrivateS3();
    kit.onStop(() => s3.stop());
    const bucket = await openBucket(scope, s3);
    const pair = await startPostgresPair(scope);
    const result = await runNodes(scope, {
      nodes: NODES,
      seconds,
      killEverySeconds: KILL_EVERY_SECONDS,
      settleSeconds: SETTLE_SECONDS,
      env: {
        ...bucket.env,
        REELPOST_OBJECTS_URL: bucket.url,
        REELPOST_DATABASE_URL: pair.urlOf(),
        REELPOST_DATABASE_REPLICATED: "true",
      },
      failOver: pair.failOver,
      say: kit.say,
    });
    const { acknowledged, lost, duplicated } = result;
    const round = (value: number | undefined) => value && Math.round(value * 10) / 10;
    const summary = {
      drill: "nodes",
      nodes: NODES,
      seconds,
      figures: { acknowledged, lost, duplicated },
      acknowledged_by_kind: result.acknowledgedByKind,
      lost_by_kind: result.lostByKind,
      failed_by_kind: result.failedByKind,
      duplicated_by_reason: result.duplicatesByReason,
      kills: result.kills,
      failovers: result.failovers,
      failover_s: round(result.failoverSeconds),
      slowest_start_s: round(result.slowestStartSeconds),
      examples: result.examples,
    };
    const active = Object.values(result.acknowledgedByKind).every((count) => count > 0);
    return { summary, ok: lost === 0 && active && result.kills > 0 && result.failovers === 1 };
  },
};
export default drill;
