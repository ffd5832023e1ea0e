import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import * as fc from "fast-check";
import { createSpools } from "./spool.ts";

test("returns the collected bytes, from memory or from a file, and removes the file", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-spool-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  let files = 0;
  const create = createSpools(() => join(folder, String(++files)), 400_000);
  const bytes = randomBytes(2_000_000);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fc.integer({ min: 0, max: 300_000 }), { maxLength: 6 }), { minLength: 1, maxLength: 3 }),
      async (parts) => {
        const [spool, other] = [create(), create()];
        await other.write(bytes.subarray(0, 300_000));
        for (const sizes of parts) {
          let end = 0;
          for (const size of sizes) {
            const reused = Buffer.from(bytes.subarray(end, (end += size)));
            await spool.write(reused);
            reused.fill(0);
          }
          assert.equal(spool.size, end);
          assert.equal(Buffer.compare(await spool.take(), bytes.subarray(0, end)), 0);
          assert.equal(spool.size, 0);
        }
        assert.equal(Buffer.compare(await other.take(), bytes.subarray(0, 300_000)), 0);
        await spool.close();
        await other.close();
      },
    ),
    { numRuns: 40 },
  );
  assert.ok(files > 0, "some parts were larger than the memory");
  assert.deepEqual(readdirSync(folder), []);
});
