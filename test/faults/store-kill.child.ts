/**
 * Writes rows, pairs of rows, objects and jobs as fast as possible, and prints acknowledgements to stdout until the
 * process is killed.
 */
import { writeSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { randomIds, silentLog, systemClock } from "../../src/kernel/index.ts";
import { createJobs, createLocalEvents, openFsObjects } from "../../src/store/index.ts";
import { bytesOf, type KillTables, openDatabaseAt, runEffect, type DatabaseLocation } from "./store-kill.shared.ts";

const { where, folder, run } = JSON.parse(process.argv[2]!) as { where: DatabaseLocation; folder: string; run: string };
const db = await openDatabaseAt(where);
const objects = await openFsObjects({ folder });
const jobs = createJobs({
  db,
  clock: systemClock,
  ids: randomIds,
  events: createLocalEvents({ log: silentLog }),
  log: silentLog,
});
const tables = db.tables<KillTables>();

// Writes directly to the pipe: data buffered by process.stdout would be lost if this process were killed.
function acknowledge(...words: string[]): void {
  for (;;) {
    try {
      return void writeSync(1, `${words.join(" ")}\n`);
    } catch (err) {
      // The reader is slower than this process, so the pipe is full. A line is short enough for an atomic pipe write
      // (pipe(7)).
      if ((err as NodeJS.ErrnoException).code !== "EAGAIN") throw err;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

jobs.work("effect", { concurrency: 4, leaseMs: 1000, pollMs: 50 }, (job) => runEffect(db, job));

const writers: ((name: string) => Promise<void>)[] = [
  async (name) => {
    await db.write(tables.insertInto("singles").values({ name }));
    acknowledge("single", name);
  },
  async (name) => {
    await tables.insertInto("singles").values({ name }).execute();
    acknowledge("single", name);
  },
  async (name) => {
    await db.transaction<KillTables, void>(async (tx) => {
      await tx.insertInto("lefts").values({ name }).execute();
      await tx.insertInto("rights").values({ name }).execute();
    });
    acknowledge("pair", name);
  },
  async (name) => {
    await objects.put(`kill/${run}/${name}`, bytesOf(name));
    acknowledge("object", `kill/${run}/${name}`, name);
  },
  async (name) => {
    const key = `kill/streams/${name}`;
    await objects.put(
      key,
      (async function* () {
        for (const half of [bytesOf(name).subarray(0, 1000), bytesOf(name).subarray(1000)]) yield half;
      })(),
    );
    acknowledge("object", key, name);
  },
  async (name) => {
    acknowledge("job", await jobs.enqueue("effect", { name }));
  },
];

await Promise.all(
  [0, 1].flatMap((lane) =>
    writers.map(async (write, writer) => {
      for (let n = 0; ; n++) {
        await write(`${run}-${writer}-${lane}-${n}`);
        // SQLite writes complete so fast that a tight loop of them would starve file system callbacks.
        await setImmediate();
      }
    }),
  ),
);
