import { describe, type TestContext } from "node:test";
import { onEveryDatabase } from "../../../../test/support/databases.ts";
import { onS3 } from "../../../../test/support/radosgw.ts";
import { objectKeysConformance } from "../objects-keys.conformance.ts";
import { objectPartialConformance } from "../objects-partial.conformance.ts";
import { objectPutConformance } from "../objects-put.conformance.ts";
import { objectReadConformance } from "../objects-read.conformance.ts";
import { objectsMigrations } from "../partials-table.ts";
import { openTestObjects } from "./s3.testing.ts";

onS3((openBucket) => {
  describe("objects", () => {
    onEveryDatabase((engine) => {
      const open = async (t: TestContext) => {
        const { db } = await engine.open(t, objectsMigrations);
        const bucket = await openBucket(t);
        return openTestObjects(t, { ...bucket, url: bucket.url.replace("?", "/of/test?") }, db);
      };
      objectPartialConformance(open);
      // Only partial objects use the database.
      if (engine.name !== "sqlite") return;
      objectPutConformance(open);
      objectReadConformance(open);
      objectKeysConformance(open);
    });
  });
});
