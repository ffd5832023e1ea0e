import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, test, type TestContext } from "node:test";
import { onEveryDatabase, type TestDatabase } from "../../../../test/support/databases.ts";
import { onS3, openBucket as openBucketOn, startPrivateS3, type TestBucket } from "../../../../test/support/radosgw.ts";
import { isStoreError } from "../../errors.ts";
import { migrate } from "../../db/migrate.ts";
import { openSqlite } from "../../db/sqlite.ts";
import { pieces, read } from "../objects.testing.ts";
import { objectsMigrations } from "../partials-table.ts";
import { bytesAt, openTestObjects, temporaryFolder } from "./s3.testing.ts";

const MIB = 1024 * 1024;
const PART = 5 * MIB;

export interface ChildOptions {
  where: TestDatabase["where"];
  url: string;
  scratch: string;
  pieceBytes: number;
  partBytes: number;
}

/** Starts a process that appends, and kills it. Resolves with the last acknowledged size. */
async function appendUntilKilled(
  t: TestContext,
  { url, env }: TestBucket,
  where: TestDatabase["where"],
  { pieceBytes, acknowledged, laterMs }: { pieceBytes: number; acknowledged: number; laterMs: number },
): Promise<number> {
  const options: ChildOptions = { where, url, scratch: temporaryFolder(t), pieceBytes, partBytes: PART };
  const child = spawn(process.execPath, [join(import.meta.dirname, "partial.child.ts"), JSON.stringify(options)], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  const exited = once(child, "exit");
  let size = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    size = Number(line);
    // A random moment during the next append.
    if (size >= acknowledged) setTimeout(() => child.kill("SIGKILL"), laterMs);
  }
  await exited;
  return size;
}

onS3((openBucket) => {
  describe("a partial object whose writer was killed", () => {
    onEveryDatabase((engine) => {
      test("contains every acknowledged byte, and can be completed by another process", async (t) => {
        const { db, where } = await engine.open(t, objectsMigrations);
        const bucket = await openBucket(t);
        const objects = await openTestObjects(t, bucket, db, { partBytes: PART });
        const partial = objects.partial("a/source");
        let size = 0;
        for (const [round, pieceBytes] of [3 * MIB + 1, 12 * MIB, 700_000].entries()) {
          const acknowledged = await appendUntilKilled(t, bucket, where, {
            pieceBytes,
            acknowledged: size + 1,
            laterMs: 40 * round + Math.random() * 60,
          });
          size = await partial.size();
          assert.ok(size >= acknowledged, `${size} of ${acknowledged} acknowledged bytes are stored`);
        }
        const end = size + PART + 1;
        size = await partial.append(
          size,
          (async function* () {
            yield bytesAt(size, end - size);
          })(),
        );
        await partial.complete(size);
        assert.equal(Buffer.compare((await read(objects, "a/source"))!, bytesAt(0, end)), 0);
      });
    });
  });

  test("a partial object is completed even if the S3 server is killed during the completion", async (t) => {
    const server = await startPrivateS3();
    t.after(() => server.stop());
    const db = openSqlite({ path: join(temporaryFolder(t), "test.db") });
    t.after(() => db.close());
    await migrate(db, objectsMigrations);
    const objects = await openTestObjects(t, await openBucketOn(t, server), db, { partBytes: PART });
    for (const laterMs of [1, 3, 5]) {
      const bytes = bytesAt(laterMs, 2 * PART + 10);
      const partial = objects.partial(`a/${laterMs}`);
      await partial.append(0, pieces(bytes, MIB));
      const completion = partial.complete(bytes.length);
      completion.catch(() => {});
      // A moment during the completion.
      await new Promise((resolve) => setTimeout(resolve, laterMs));
      await server.kill();
      await server.restart();
      // The retries of a request last a few seconds. If the server needs longer to start, the caller completes it again.
      await completion.catch((err: unknown) => {
        if (!isStoreError(err, "objectsUnreachable")) throw err;
        return partial.complete(bytes.length);
      });
      assert.equal(Buffer.compare((await read(objects, `a/${laterMs}`))!, bytes), 0);
    }
  });
});
