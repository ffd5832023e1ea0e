import { join } from "node:path";
import { startCluster } from "../test/support/postgres.ts";
import { GROWING } from "../test/growth/growing.ts";
import { openComponents, updateStatistics, type Operation, type Subject } from "../test/growth/subject.ts";
import { subjects } from "../test/growth/subjects.ts";
import { migrations } from "../src/server/index.ts";
import { migrate, openPostgres, openSqlite, type Db } from "../src/store/index.ts";
import type { Arm, Bench, BenchContext } from "./harness/bench.ts";
import { median } from "./harness/median.ts";

/** Calls per sample with few and with many rows: at least nine, more as long as both take less than this time. */
const CALLS = { min: 9, max: 40, ms: 400 };
/**
 * A lookup by key in a larger tree reads one or two more pages. `growth` ignores a difference below this time, which is
 * a fraction of the time of a request; the figures of the operations include it.
 */
const MIN_DIFFERENCE_US = 20;
/** `--rows quick`: the largest number of rows. */
const QUICK_ROWS = 1e5;

type Engine = Db["dialect"];

/**
 * The time of each operation with many rows, as a multiple of its time with few rows; see test/growth for both. The
 * components of the program run in this process, on a database that contains only their rows.
 *
 *     npm run -s bench -- growth --json --engine postgres --rows quick --only videos
 *
 * `--rows full` creates up to ten million rows, which takes about 15 GB for the mail log on SQLite.
 *
 * Times with 100,000 rows (rules, workers and inputs: 10,000), as a multiple of those with 1,000 (100), on SQLite,
 * before the named change; afterwards they are between 1.0 and 1.3:
 *
 * | operation | before | change |
 * |---|---|---|
 * | videos: search (8.8 after) | 188 | trigram index whose rows are in the order of the list |
 * | outbound queue: find by received message | 315 | index |
 * | outbound queue: sweep of finished messages | 238 | reads 500 messages per statement |
 * | DNS records: list last page | 95 | reads from the end |
 * | routing rules: list, last page | 44, 81 | reads one page, from the nearer end; stored total |
 * | routing rules: list of the account, last page | 3.8, 7.2 | stored total; reads from the end |
 * | deployed workers: list, last page, insert | 2.6, 11, 2.4 | stored total; reads from the end |
 * | deployed workers: crons, claim | 22, 39 | skips from one expression to the next; index by last run |
 * | live inputs: list, last page | 3.0, 6.3 | stored total; reads from the end |
 *
 * A page in the middle of a list by page number still skips the rows before it, or after it, in an index. A larger page
 * cache of SQLite (16 MB, 64 MB) did not reduce the growth of lookups by key. Operations that remain slower:
 * test/growth/growing.ts.
 *
 * On a machine with ten times as much work as cores, `KV keys: sweep` seemed to grow to 2.1 while few and many rows were
 * measured one after the other; with alternating calls, it is 1.04.
 */
const bench: Bench = {
  name: "growth",
  async setup(kit) {
    const { engine = "sqlite", rows = "quick", only } = kit.options ?? {};
    if (engine !== "sqlite" && engine !== "postgres")
      throw new Error(`--engine must be sqlite or postgres, not "${engine}"`);
    if (rows !== "quick" && rows !== "full") throw new Error(`--rows must be quick or full, not "${rows}"`);
    const chosen = subjects.filter(({ name }) => only === undefined || name === only);
    if (chosen.length === 0)
      throw new Error(`--only must be one of ${subjects.map(({ name }) => `"${name}"`).join(", ")}, not "${only}"`);
    const open = await openerOf(engine, kit);
    const pairs: { name: string; few: string; many: string }[] = [];
    const arms: Arm[] = [];
    for (const subject of chosen) {
      const many = rows === "full" ? subject.rows.many : Math.min(subject.rows.many, QUICK_ROWS);
      const fewOperations = await fill(kit, open, subject, subject.rows.few);
      const manyOperations = await fill(kit, open, subject, many);
      for (const [at, operation] of fewOperations.entries()) {
        const name = `${subject.name}: ${operation.name}`;
        const pair = { name, few: `${name}, few`, many: `${name}, many` };
        pairs.push(pair);
        arms.push(...armsOf(pair, operation, manyOperations[at]!));
      }
    }
    return {
      peers: { engine },
      arms,
      figures(of) {
        const counted = pairs.filter(
          ({ name, few, many }) => !(name in GROWING) && of(many) - of(few) >= MIN_DIFFERENCE_US,
        );
        const ratioOf = ({ few, many }: (typeof pairs)[number]) => of(many) / of(few);
        return {
          growth: Math.max(1, ...counted.map(ratioOf)),
          ...Object.fromEntries(pairs.map((pair) => [pair.name, ratioOf(pair)])),
        };
      },
    };
  },
};
export default bench;

async function openerOf(engine: Engine, kit: BenchContext): Promise<() => Promise<Db>> {
  if (engine === "sqlite") {
    let count = 0;
    return async () => openSqlite({ path: join(kit.dir, `${count++}.sqlite`) });
  }
  const cluster = await startCluster();
  if (cluster === undefined) throw new Error("PostgreSQL is not installed; run node scripts/system.ts test");
  kit.onStop(() => cluster.stop());
  return async () => {
    const url = await cluster.createDatabase();
    kit.onStop(() => cluster.dropDatabase(url));
    return openPostgres({ url, connections: 2, timeout_seconds: 3600 });
  };
}

async function fill(kit: BenchContext, open: () => Promise<Db>, subject: Subject, rows: number): Promise<Operation[]> {
  kit.say(`creating ${rows} rows: ${subject.name}`);
  const db = await open();
  kit.onStop(() => db.close());
  await migrate(db, migrations);
  const world = await openComponents(db, { after: kit.onStop }, kit.dir);
  const operations = await subject.open(world, rows);
  await updateStatistics(db);
  return operations;
}

/**
 * A sample is the median time of a call. Calls with few and with many rows alternate: on a busy machine, the time of a
 * commit changes more from one second to the next than with the number of rows.
 */
function armsOf({ few, many }: { few: string; many: string }, withFew: Operation, withMany: Operation): Arm[] {
  /** Measured for the first arm of a round, and used by the second. */
  let stored: { few: number; many: number } | undefined;
  const sample = async (side: "few" | "many") => {
    const medians = stored ?? (await alternate(withFew, withMany));
    stored = stored === undefined ? medians : undefined;
    return medians[side];
  };
  return [
    { name: few, unit: "us", sample: () => sample("few") },
    { name: many, unit: "us", sample: () => sample("many") },
  ];
}

async function alternate(withFew: Operation, withMany: Operation): Promise<{ few: number; many: number }> {
  const times = { few: [] as number[], many: [] as number[] };
  const end = performance.now() + CALLS.ms;
  while (times.few.length < CALLS.min || (times.few.length < CALLS.max && performance.now() < end)) {
    times.few.push(await timeOf(withFew));
    times.many.push(await timeOf(withMany));
  }
  return { few: median(times.few), many: median(times.many) };
}

async function timeOf({ prepare, run }: Operation): Promise<number> {
  await prepare?.();
  const started = performance.now();
  await run();
  return (performance.now() - started) * 1000;
}
