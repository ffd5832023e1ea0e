import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { silentLog, systemClock } from "../../kernel/index.ts";
import { migrate, openSqlite } from "../../store/index.ts";
import { createActivity } from "./activity.ts";
import { activityMigrations } from "./entries-table.ts";

/** A killed process loses the steps that had not been written yet, but no earlier ones. */

const ACCOUNT = "a".repeat(32);
const open = (folder: string) => {
  const db = openSqlite({ path: join(folder, "test.db") });
  return { db, activity: createActivity({ db, clock: systemClock, log: silentLog }) };
};

/** Records steps of messages until it is killed, and prints the steps that have been written. */
async function work(folder: string): Promise<never> {
  const { activity } = open(folder);
  for (let n = 0; ; n += 20) {
    for (let i = n; i < n + 20; i++) {
      activity.trace({
        message: `m${i}`,
        at: new Date(),
        step: "received",
        account: ACCOUNT,
        detail: { from: "a@there.example", to: ["b@here.example"] },
      });
      activity.trace({ message: `m${i}`, at: new Date(), step: "dropped", rcpt: "b@here.example", detail: {} });
    }
    await activity.flush();
    writeSync(1, `${n + 20}\n`);
  }
}

if (process.argv[2] === "work") {
  await work(process.argv[3]!);
} else {
  test("a killed process loses no step that it has written", { timeout: 240_000 }, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "reelpost-log-crash-"));
    t.after(() => rm(folder, { recursive: true, force: true }));
    const setUp = openSqlite({ path: join(folder, "test.db") });
    await migrate(setUp, activityMigrations);
    await setUp.close();

    const child = spawn(process.execPath, [import.meta.filename, "work", folder], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const exited = once(child, "exit");
    let written = 0;
    for await (const line of createInterface({ input: child.stdout })) {
      written = Number(line);
      if (written >= 400) child.kill("SIGKILL");
    }
    assert.equal((await exited)[1], "SIGKILL");

    const { db, activity } = open(folder);
    t.after(() => db.close());
    const seen = new Set<string>();
    for (let after: string | undefined, end = false; !end;) {
      const { items, next } = await activity.search({
        account: ACCOUNT,
        limit: 500,
        ...(after !== undefined && { after }),
      });
      for (const { message, status } of items) {
        assert.equal(status, "dropped", "both steps of a group are stored, or neither");
        seen.add(message);
      }
      after = next;
      end = next === undefined;
    }
    for (let n = 0; n < written; n++) assert.ok(seen.has(`m${n}`), `m${n} of ${written}`);
    assert.ok(seen.size <= written + 20, "entries that were not written are lost with the process");
    await activity.close();
  });
}
