import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { onEveryDatabase } from "../../../../test/support/databases.ts";
import { onS3 } from "../../../../test/support/radosgw.ts";
import { cachedObjects } from "./cached.ts";
import { countObjectRequests } from "../counted.testing.ts";
import { objectKeysConformance } from "../objects-keys.conformance.ts";
import { objectPutConformance } from "../objects-put.conformance.ts";
import { objectReadConformance } from "../objects-read.conformance.ts";
import { objectsMigrations } from "../partials-table.ts";
import { openTestObjects } from "../s3/s3.testing.ts";

onS3((openBucket) => {
  describe("objects with a local cache", () => {
    onEveryDatabase((engine) => {
      // Only partial objects use the database.
      if (engine.name !== "sqlite") return;
      async function openRemote(t: TestContext) {
        const { db } = await engine.open(t, objectsMigrations);
        const bucket = await openBucket(t);
        return openTestObjects(t, { ...bucket, url: bucket.url.replace("?", "/of/test?") }, db);
      }
      function cacheFolder(t: TestContext): string {
        const dir = mkdtempSync(join(tmpdir(), "reelpost-cache-s3-"));
        t.after(() => rmSync(dir, { recursive: true, force: true }));
        return dir;
      }
      const open = async (t: TestContext) =>
        cachedObjects(await openRemote(t), { dir: cacheFolder(t), maxBytes: 2 ** 30 });
      objectPutConformance(open);
      objectReadConformance(open);
      objectKeysConformance(open);

      test("need no request to be read if this process has stored them", async (t) => {
        const { objects, counts } = countObjectRequests(await openRemote(t));
        const cached = cachedObjects(objects, { dir: cacheFolder(t), maxBytes: 2 ** 30 });
        const bytes = randomBytes(500_000);
        await cached.put("v/1", bytes, { ifAbsent: true });
        assert.deepEqual(await (await cached.open("v/1"))!.bytes(), bytes);
        (await cached.leaseFile("v/1"))!.release();
        assert.deepEqual(counts, { put: 1, open: 0, read: 0, copy: 0, list: 0, delete: 0 });
      });
    });
  });
});
