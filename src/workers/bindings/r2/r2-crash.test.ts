import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { createManualClock } from "../../../kernel/index.ts";
import { migrate, openFsObjects, openSqlite } from "../../../store/index.ts";
import { createR2Buckets } from "./buckets.ts";
import { r2Migrations } from "./r2-table.ts";

interface Line {
  key: string;
  round: number;
  /** Length of the value in characters; null for a deletion. */
  begun?: number | null;
  done?: number | null;
}

type Last = { done?: { round: number; length: number | null }; begun?: { round: number; length: number | null } };

/**
 * Kills the writing process after it has reported this many lines. Resolves with the last report for each key, because
 * a later run writes its keys from round 0 again.
 */
async function killAfter(lines: number, folder: string): Promise<Map<string, Last>> {
  const child = spawn(process.execPath, [import.meta.filename, "write", folder], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const last = new Map<string, Last>();
  let seen = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    const { key, round, begun, done } = JSON.parse(line) as Line;
    const entry = last.get(key) ?? {};
    last.set(key, entry);
    if (done === undefined) entry.begun = { round, length: begun! };
    else entry.done = { round, length: done };
    // Keeps reading: reports written before the process died count as well.
    if (++seen === lines) child.kill("SIGKILL");
  }
  const [, signal] = await exited;
  assert.equal(signal, "SIGKILL", "the child was killed while it was writing");
  return last;
}

async function writeForever(folder: string): Promise<never> {
  const objects = await openFsObjects({ folder: join(folder, "objects") });
  const r2 = createR2Buckets({
    db: openSqlite({ path: join(folder, "test.db") }),
    objects,
    limits: { minimumPartBytes: 1 },
  });
  const tell = (line: Line) => writeSync(1, `${JSON.stringify(line)}\n`);

  /**
   * Each key has one writer, so that its expected value is known: the last acknowledged value, or one whose write
   * started after it.
   */
  async function write(key: string): Promise<never> {
    for (let round = 0; ; round++) {
      const length = round % 5 === 4 ? null : 1 + ((round * 4999) % 30_000);
      tell({ key, begun: length, round });
      if (length === null) await r2.delete("bucket", [key]);
      else if (round % 3 === 2) await writeInParts(key, valueOf(key, round, length));
      else await r2.put("bucket", key, Buffer.from(valueOf(key, round, length)));
      tell({ key, done: length, round });
    }
  }

  async function writeInParts(key: string, value: string) {
    const half = Math.ceil(value.length / 2);
    const upload = await r2.createUpload("bucket", key);
    const parts = [
      await r2.uploadPart("bucket", upload, 1, Buffer.from(value.slice(0, half))),
      await r2.uploadPart("bucket", upload, 2, Buffer.from(value.slice(half))),
    ];
    await r2.completeUpload("bucket", upload, parts);
  }

  return Promise.race(["a", "b", "c", "d", "e", "f"].map(write));
}

const valueOf = (key: string, round: number, length: number) => `${key} ${round} `.repeat(length).slice(0, length);

// The process that the test kills runs this file too: it writes as fast as it can and reports each write.
if (process.argv[2] === "write") await writeForever(process.argv[3]!);
else
  test("a process killed while writing loses no acknowledged object, and the sweep removes bytes without a row", async () => {
    const folder = await mkdtemp(join(tmpdir(), "r2-"));
    const where = { path: join(folder, "test.db") };
    const schema = openSqlite(where);
    await migrate(schema, r2Migrations);
    await schema.close();
    try {
      for (const lines of [150, 331]) {
        const last = await killAfter(lines, folder);
        const db = openSqlite(where);
        const objects = await openFsObjects({ folder: join(folder, "objects") });
        const clock = createManualClock(Date.now() + 48 * 3600_000);
        const r2 = createR2Buckets({ db, objects, clock });
        try {
          for (const [key, { done, begun }] of last) {
            const found = await r2.get("bucket", key);
            const value = found ? await text(found.body!) : null;
            if (!done || !begun) continue;
            const allowed = [done, begun].map(({ round, length }) =>
              length === null ? null : valueOf(key, round, length),
            );
            assert.ok(allowed.includes(value), `${key}: ${value?.slice(0, 40)} was neither acknowledged nor started`);
          }
          await r2.sweep();
          await r2.close();
          const stored: string[] = [];
          for await (const { key } of objects.list("r2/")) stored.push(key);
          const rows = await db
            .tables<{ r2_objects: { version: string; upload_id: string | null }; r2_parts: { blob: string } }>()
            .selectFrom("r2_objects")
            .select("version")
            .where("upload_id", "is", null)
            .execute();
          const parts = await db
            .tables<{ r2_parts: { blob: string } }>()
            .selectFrom("r2_parts")
            .select("blob")
            .execute();
          assert.deepEqual(
            stored,
            [...rows.map(({ version }) => version), ...parts.map(({ blob }) => blob)]
              .map((blob) => `r2/bucket/${blob}`)
              .sort(),
          );
        } finally {
          await db.close();
        }
      }
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
