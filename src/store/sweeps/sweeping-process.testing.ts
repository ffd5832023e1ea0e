import { randomIds, silentLog, systemClock } from "../../kernel/index.ts";
import { openPostgres } from "../db/postgres.ts";
import { createSharedSweeps } from "./sweeps.ts";

/**
 * Runs a sweep every 20 ms, with a lease of one second: `node sweeping-process.testing.ts <url> <hang>`. Prints "ran"
 * for each run; with "hang", the first run never ends.
 */
const [url, hang] = process.argv.slice(2);
const db = await openPostgres({ url: url!, connections: 2 });
const sweeps = createSharedSweeps({ db, clock: systemClock, ids: randomIds, log: silentLog, leaseMs: 1000 });
sweeps.every(
  20,
  async () => {
    process.stdout.write("ran\n");
    if (hang === "hang") await new Promise(() => {});
  },
  { name: "test", log: silentLog },
);
setInterval(() => {}, 60_000);
