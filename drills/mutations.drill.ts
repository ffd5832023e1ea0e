import { join } from "node:path";
import { FREE_PORTS } from "../test/support/free-ports.ts";
import { SHARED_CLUSTER, startCluster } from "../test/support/postgres.ts";
import type { Drill } from "./harness/drill.ts";
import { listMutations } from "./harness/mutation-lists.ts";
import { runMutations } from "./harness/mutation-run.ts";

/** The drill fails if the share of killed mutations is below this. */
const MIN_KILLED_RATIO = 0.95;

/** Applies every mutation of drills/mutations, one at a time, and runs the test that must fail. */
const drill: Drill = {
  name: "mutations",
  async run({ root, dir, jobs, only, say, onStop }) {
    const listed = await listMutations(join(root, "drills/mutations"));
    const mutations = listed.filter(
      ({ id, file, test }) => only.length === 0 || only.some((word) => `${id} ${file} ${test}`.includes(word)),
    );
    if (mutations.length === 0) throw new Error(`no mutation has ${only.join(" or ")} in its topic, file or test`);

    for (const [name, port] of Object.entries(FREE_PORTS)) process.env[name] ??= port;
    process.env["NODE_COMPILE_CACHE"] ??= join(root, "node_modules/.cache/reelpost-tests");
    const cluster = await startCluster();
    if (cluster) {
      process.env[SHARED_CLUSTER] = cluster.url;
      onStop(() => cluster.stop());
    } else {
      say("PostgreSQL is not installed: the tests run on SQLite only");
    }
    const interrupted = new AbortController();
    onStop(() => interrupted.abort());
    const report = await runMutations(mutations, { root, dir, jobs, say, signal: interrupted.signal });
    return { summary: { drill: "mutations", ...report }, ok: report.killed_ratio >= MIN_KILLED_RATIO };
  },
};

export default drill;
