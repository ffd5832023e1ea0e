import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { runNodes } from "../../drills/nodes/nodes.ts";
import { needsFfmpeg } from "../support/media.ts";
import { startCluster, type Cluster } from "../support/postgres.ts";
import { onS3 } from "../support/radosgw.ts";

onS3((openBucket) => {
  let cluster: Cluster | undefined;
  before(async () => void (cluster = await startCluster()));
  after(() => cluster?.stop());

  test(
    "two nodes that are killed under load keep every acknowledged item",
    { ...needsFfmpeg, timeout: 240_000 },
    async (t) => {
      assert.ok(cluster, "PostgreSQL is not installed");
      const { url, env } = await openBucket(t);
      const result = await runNodes(t, {
        nodes: 2,
        seconds: 18,
        killEverySeconds: 6,
        settleSeconds: 90,
        env: { ...env, REELPOST_OBJECTS_URL: url, REELPOST_DATABASE_URL: await cluster.createDatabase() },
        say: (line) => t.diagnostic(line),
      });
      t.diagnostic(JSON.stringify(result));
      assert.deepEqual(result.examples, []);
      assert.equal(result.lost, 0);
      assert.ok(result.kills >= 2, `${result.kills} kills`);
      for (const [kind, count] of Object.entries(result.acknowledgedByKind)) assert.ok(count > 0, kind);
    },
  );
});
